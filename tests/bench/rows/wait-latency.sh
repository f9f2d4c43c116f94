# One wait's wake-up, from the write to the answer, against a write alone.
row_wait_latency() {
    need service || return
    pair 'one wait, from the write to its answer / PUT, 1 connection' '<= 3' \
        'wake_one_us' -- 'holdfast_put median_us 1'
}
