# Counts what passed and what failed, for every check of this tier.

passed=0
failed=0

pass() {
    passed=$((passed + 1))
}

# fail NAME [DETAIL]
fail() {
    failed=$((failed + 1))
    printf 'FAILED %s\n' "$1"
    [ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/    /'
}
