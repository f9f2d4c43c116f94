# A run of once begun and answered, against the two prepared upserts that a user would write by hand.
row_once() {
    need service pgbench once || return
    pair 'once begun and answered, 64 connections / pgbench two upserts, its best' '>= 2' \
        'holdfast_once rate 64' -- 'pgbench_upsert_twice rate 8' 'pgbench_upsert_twice rate 16' 'pgbench_upsert_twice rate 32'
}
