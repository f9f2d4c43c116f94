# What the long runs share: options that are refused in one line, and a place for their servers that is gone afterwards.
# shellcheck shell=bash

# refuse_option LINE
refuse_option() {
    printf '%s: %s\n' "${0#"$checkout/"}" "$1" >&2
    exit 2
}

# number_from LEAST OPTION VALUE: prints the value.
number_from() {
    [[ $3 =~ ^[0-9]{1,19}$ ]] && ((10#$3 >= $1)) || refuse_option "$2 takes a whole number from $1"
    echo "$3"
}

# Tests that are interrupted leave their servers' data: here it goes with the run.
use_own_scratch() {
    local parent=${TMPDIR:-/tmp}
    TMPDIR=$(mktemp -d "$parent/holdfast-run-XXXXXX") && chmod 711 "$TMPDIR" || give_up "nothing can be made in $parent"
    export TMPDIR
    # What was killed may still be writing for a moment.
    trap 'rm -rf "$TMPDIR" 2>/dev/null || { sleep 1; rm -rf "$TMPDIR"; }' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
