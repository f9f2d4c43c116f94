# Checks that every promise of tests/PROMISES.md names a test, and that every named test exists and is run.

# The names of all tests: those of Check (one that is not run is an unused variable, which does not compile), the
# functions of the shell tests, and what the browser tests export, all of which is run.
existing_tests() {
    find "$checkout/tests" -name '*.c' -exec sed -n 's/^START_TEST(\([a-z0-9_]*\)).*/\1/p' {} +
    find "$checkout/tests" -type f \( -name '*.sh' -o -name run \) -exec sed -n 's/^\([a-z0-9_]*\)() {.*/\1/p' {} +
    find "$checkout/tests" -name '*_test.mjs' -exec sed -n 's/^export async function \([a-z0-9_]*\)(.*/\1/p' {} +
}

check_promises() {
    local promise names name missing
    existing_tests | sort -u >"$service_folder/tests"
    while IFS='|' read -r _ promise names _; do
        missing=
        for name in $(printf '%s' "$names" | grep -o '`[a-z0-9_]*`' | tr -d '`'); do
            grep -qx -- "$name" "$service_folder/tests" || missing="$missing $name"
        done
        if [ -n "$missing" ]; then
            fail "promise:$promise" "no such test:$missing"
        elif [[ $names != *'`'* ]]; then
            fail "promise:$promise" "no test keeps it"
        else
            pass
        fi
    done < <(grep '^| ' "$checkout/tests/PROMISES.md" | grep -v '^| promise |\|^| --- |')
}
