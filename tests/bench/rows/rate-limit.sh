# Uses of one key of a rate limit, against the UPDATE of one row that a user would write by hand.
row_rate_limit() {
    need service pgbench hits limits || return
    pair 'rate limit on one key, 64 connections / pgbench UPDATE of one row, its best' '>= 8' \
        'holdfast_allow rate 64' -- 'pgbench_increment rate 1' 'pgbench_increment rate 4' 'pgbench_increment rate 16'
}
