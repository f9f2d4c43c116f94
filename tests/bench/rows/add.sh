# Additions to one key that everybody adds to, against the UPDATE of one row that a user would write by hand.
row_add() {
    need service pgbench hits || return
    pair 'add on one key, 64 connections / pgbench UPDATE of one row, its best' '>= 8' \
        'holdfast_add rate 64' -- 'pgbench_increment rate 1' 'pgbench_increment rate 4' 'pgbench_increment rate 16'
}
