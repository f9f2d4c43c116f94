# Transactions of two writes, against the BEGIN..COMMIT that a user would write by hand.
row_transactions() {
    need service pgbench pairs || return
    pair 'transactions of 2 puts, 64 connections / pgbench BEGIN..COMMIT of two upserts, its best' '>= 2.0' \
        'holdfast_pair rate 64' -- 'pgbench_pair rate 8' 'pgbench_pair rate 16' 'pgbench_pair rate 32'
}
