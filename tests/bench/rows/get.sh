# Reads, against the prepared SELECT that a user would write by hand.
row_get() {
    need service pgbench || return
    pair 'GET, 64 connections / pgbench prepared SELECT, its best' '>= 1.15' \
        'holdfast_get rate 64' -- 'pgbench_select rate 2' 'pgbench_select rate 4' 'pgbench_select rate 16'
}
