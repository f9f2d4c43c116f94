# Checks that the benchmark, whose figures the documents give, does not take wrong answers for work done.

check_bench() {
    local words
    if words=$("$checkout/tests/bench/check" "$HOLDFAST_BUILD/tests/bench-load" "$HOLDFAST_BUILD/tests/bench-ceiling" 2>&1); then
        pass
    else
        fail 'the benchmark judges what it measures' "$words"
    fi
}
