# Uses of one key of a rate limit that need not wait for the disk, against one whose answers are durable.
row_rate_limit_losing() {
    need service limits || return
    pair 'rate limit with lose_at_most, 1 connection, latency / without' '<= 0.9' \
        'holdfast_allow median_us 1 bench-losing' -- 'holdfast_allow median_us 1'
}
