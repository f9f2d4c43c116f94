# Runs every command of the README's `sh run` blocks, in order and in one shell, and compares what comes back. Those of
# `sh run tokens` shut the service to all others, and come last, on a service of their own.

# The address in the README, which the test's own service stands in for.
readonly readme_url=http://127.0.0.1:7070

# Whether the text $1 is the expected line $2, in which … stands for anything.
line_is() {
    local pattern
    pattern=$(printf '%s' "$2" | sed 's/[][*?\\]/\\&/g; s/…/*/g')
    # shellcheck disable=SC2053 # the pattern is meant to be one
    [[ $1 == $pattern ]]
}

# Whether the lines of file $1 are the lines of file $2; with $3 set, others may stand before, between and after.
output_is() {
    local -a got want
    local next=0 line
    mapfile -t got < <(tr -d '\r' <"$1")
    mapfile -t want <"$2"
    for line in "${got[@]}"; do
        if [ $next -lt ${#want[@]} ] && line_is "$line" "${want[$next]}"; then
            next=$((next + 1))
        elif [ -z "${3:-}" ]; then
            return 1
        fi
    done
    [ $next -eq ${#want[@]} ]
}

readme_run_command() {
    local command=${1//$readme_url/$service_url} others=
    [[ $1 != *'curl -i '* ]] || others=allowed
    eval "$command" >"$service_folder/got" 2>"$service_folder/err"
    if output_is "$service_folder/got" "$service_folder/want" "$others"; then
        pass
    else
        fail "README: $1" "wanted:
$(cat "$service_folder/want")
got:
$(cat "$service_folder/got" "$service_folder/err")"
    fi
}

# The program as its users have it: on the data of the test's service, or as its client.
holdfast() {
    case $1 in
    serve | migrate | token | key) "$HOLDFAST_BUILD/holdfast" "$@" --data "$service_folder/data" ;;
    *) HOLDFAST_URL=$service_url "$HOLDFAST_BUILD/holdfast" "$@" ;;
    esac
}

check_readme() {
    check_blocks '```sh run'
}

check_readme_tokens() {
    check_blocks '```sh run tokens'
}

check_blocks() {
    local line command='' inside=
    : >"$service_folder/want"
    while IFS= read -r line; do
        case $line in
        "$1") inside=yes ;;
        '```')
            [ -z "$command" ] || readme_run_command "$command"
            inside='' command=''
            ;;
        '#=> '*) [ -z "$inside" ] || printf '%s\n' "${line#'#=> '}" >>"$service_folder/want" ;;
        '' | '#'*) ;;
        *)
            [ -n "$inside" ] || continue
            [ -z "$command" ] || readme_run_command "$command"
            : >"$service_folder/want"
            command=$line
            ;;
        esac
    done <"$checkout/README.md"
}
