# A row: pairs measured alternately, their medians, and what is printed of them.

ratio_rows=()    # title, goal, measured, range, reached
absolute_rows=() # title, ours, theirs
voided=0
skip_reason=''
load_before=$(cut -d ' ' -f 1 /proc/loadavg) # above one half, other work disturbs the figures

# median NUMBER...
median() {
    printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

divide() {
    awk "BEGIN { printf \"%.2f\", $1 / $2 }"
}

# range NUMBER...: the lowest and the highest.
range() {
    printf '%s\n' "$@" | sort -g | sed -n '1p;$p' | paste -s -d -
}

# best GOAL NUMBER...: the highest when more is better, that is when the goal is a least value; else the lowest.
best() {
    local goal=$1
    shift
    if [[ $goal == '>='* ]]; then
        printf '%s\n' "$@" | sort -g | tail -n 1
    else
        printf '%s\n' "$@" | sort -g | head -n 1
    fi
}

# need NAME...: starts what a row measures, once. When it fails the row ends: skipped or void.
need() {
    local name
    for name; do
        "need_$name" || return
    done
}

# skip REASON: always fails, so that the row ends.
skip() {
    skip_reason=$1
    return 1
}

# pair TITLE GOAL OURS -- THEIRS...: commands that print a number, run in turn, so that what else the machine does falls
# on both; OURS is set against the best of THEIRS. GOAL is '>= NUMBER' or '<= NUMBER' for ours divided by theirs.
pair() {
    local title=$1 goal=$2 ours=$3 round number i
    shift 4
    local theirs=("$@") our_numbers=() their_numbers=() their_medians=() this_round ratios=()
    for ((round = 1; round <= rounds; round++)); do
        this_round=()
        number=$($ours) || return
        our_numbers+=("$number")
        say "  round $round: $ours: $number"
        for i in "${!theirs[@]}"; do
            number=$(${theirs[i]}) || return
            their_numbers[i]+=" $number"
            this_round+=("$number")
            say "  round $round: ${theirs[i]}: $number"
        done
        ratios+=("$(divide "${our_numbers[-1]}" "$(best "$goal" "${this_round[@]}")")")
    done
    for i in "${!theirs[@]}"; do
        # shellcheck disable=SC2086 # numbers, to be split
        their_medians+=("$(median ${their_numbers[i]})")
    done
    report_pair "$title" "$goal" "$(median "${our_numbers[@]}")" "$(best "$goal" "${their_medians[@]}")" \
        "$(range "${ratios[@]}")"
}

# report_pair TITLE GOAL OURS THEIRS RANGE
report_pair() {
    report "$1" "$2" "$(divide "$3" "$4")" "$5"
    absolute_rows+=("$1" "$(printf %.0f "$3")" "$(printf %.0f "$4")")
}

# report TITLE GOAL MEASURED [RANGE]: a line of the table; for a row that is not a pair too.
report() {
    local reached=no
    awk "BEGIN { exit !($3 $2) }" && reached=yes
    ratio_rows+=("$1" "$2" "$3" "${4:--}" "$reached")
}

# run_row NAME: a row that does not end well leaves a line that says so.
run_row() {
    local name=$1
    say "row $name"
    skip_reason=''
    if "row_${name//[-\/]/_}"; then
        return
    elif [[ -n $skip_reason ]]; then
        ratio_rows+=("$name" - skipped - "$skip_reason")
    else
        ratio_rows+=("$name" - void - 'an answer was wrong or missing, see above')
        voided=1
    fi
}

# Prints lines of tab-separated fields from standard input as a table.
print_table() {
    awk -F "\t" '
        { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } columns = NF }
        END {
            for (row = 1; row <= NR; row++) {
                for (i = 1; i <= columns; i++) printf "| %-*s ", width[i], cell[row, i]
                print "|"
            }
        }'
}

print_ratios() {
    {
        printf 'row\tgoal\tmeasured\trounds\treached\n'
        printf -- '---\t---\t---\t---\t---\n'
        ((${#ratio_rows[@]} == 0)) || printf '%s\t%s\t%s\t%s\t%s\n' "${ratio_rows[@]}"
    } | print_table
}

print_absolute() {
    ((${#absolute_rows[@]} > 0)) || return 0
    {
        printf 'absolute, a second or microseconds\tours\ttheirs\n'
        printf -- '---\t---\t---\n'
        printf '%s\t%s\t%s\n' "${absolute_rows[@]}"
    } | print_table
}

# What was measured on: a line without its end.
machine() {
    local model
    model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
    printf '%s cores, %s, Linux %s' "$(nproc)" "${model:-unknown processor}" "$(uname -r)"
}

print_machine() {
    printf 'machine: %s; medians of %s rounds of %s s, %s keys of %s bytes,\nload before %s\n' \
        "$(machine)" "$rounds" "$seconds" "$keys" "$value_size" "$load_before"
}
