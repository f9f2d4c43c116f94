# Additions to one key of a counter, against the UPDATE of one row that a user would write by hand.
row_counter() {
    need service pgbench hits limits || return
    pair 'counter add on one key, 64 connections / pgbench UPDATE of one row, its best' '>= 8' \
        'holdfast_count rate 64' -- 'pgbench_increment rate 1' 'pgbench_increment rate 4' 'pgbench_increment rate 16'
}
