# A curve: points measured one after the other into a table, from which it is drawn.

curve_table='' # the table that is being written
void_points=0

# begin_table COLUMN...
begin_table() {
    printf '%s\n' "$@" | paste -s >"$curve_table"
}

# figures COMMAND...: one measurement's rate, median and 99th percentile, beside each other.
figures() {
    local line
    line=$("$@") || return
    echo "$(field rate "$line") $(field median_us "$line") $(field p99_us "$line")"
}

# cells FIGURES: the medians of each of the three over the lines given, between tabs.
cells() {
    local column numbers=() medians=()
    for column in 1 2 3; do
        mapfile -t numbers < <(cut -d ' ' -f "$column" <<<"$1")
        medians+=("$(median "${numbers[@]}")")
    done
    printf '\t%s' "${medians[@]}"
}

# point X COMMAND...: a line of the table: what each command measured, in the middle of `rounds` rounds. The commands take
# turns, so that what else the machine does falls on all. `-` stands for what is not measured here; a command that fails, as
# it does when any answer was wrong, leaves its cells void.
point() {
    local x=$1 commands=("${@:2}") measured=() round i line
    for ((round = 1; round <= rounds; round++)); do
        for i in "${!commands[@]}"; do
            [[ ${commands[i]} != - && ${measured[i]:-} != void ]] || continue
            # shellcheck disable=SC2086 # a command and its arguments, to be split
            if line=$(figures ${commands[i]}); then
                measured[i]+=${measured[i]:+$'\n'}$line
            else
                measured[i]=void
                void_points=1
            fi
            say "  $x, round $round: ${commands[i]}: ${line:-void}"
        done
    done
    {
        printf %s "$x"
        for i in "${!commands[@]}"; do
            case ${measured[i]:--} in
            - | void) printf '\t%s' "${measured[i]:--}"{,,} ;;
            *) cells "${measured[i]}" ;;
            esac
        done
        echo
    } >>"$curve_table"
}

# describe_charts SCALE BY-HAND: rates above latencies, reads beside writes; what is in the columns get_* and put_*, and in
# select_* and upsert_* when BY-HAND is yes.
describe_charts() {
    local scale=$1 by_hand=$2 what
    for what in rate latency; do
        describe_chart "$what" "$scale" GET get "$by_hand" 'SELECT by hand' select
        describe_chart "$what" "$scale" 'durable PUT' put "$by_hand" 'upsert by hand' upsert
    done
}

# describe_chart rate|latency SCALE OUR-NAME OUR-COLUMNS BY-HAND THEIR-NAME THEIR-COLUMNS
describe_chart() {
    if [[ $1 == rate ]]; then
        printf 'chart\t%s a second\t%s\tcount\n' "$3" "$2"
        printf 'line\t%s_rate\t%s\t1\n' "$4" "$3"
        [[ $5 != yes ]] || printf 'line\t%s_rate\t%s\t2\n' "$7" "$6"
    else
        printf 'chart\tlatency of %s\t%s\tus\n' "$3" "$2"
        printf 'line\t%s_median_us\t%s, median\t1\n' "$4" "$3"
        printf 'line\t%s_p99_us\t%s, p99\t1\tdashed\n' "$4" "$3"
        [[ $5 != yes ]] || printf 'line\t%s_median_us\t%s, median\t2\n' "$7" "$6"
        [[ $5 != yes ]] || printf 'line\t%s_p99_us\t%s, p99\t2\tdashed\n' "$7" "$6"
    fi
}

# The columns of three figures for each name.
figure_columns() {
    local name
    for name; do
        printf '%s\n' "${name}_rate" "${name}_median_us" "${name}_p99_us"
    done
}
