# A lease acquired and released, against the two prepared upserts that a user would write by hand.
row_lease() {
    need service pgbench locks || return
    pair 'lease acquired and released, 64 connections / pgbench two upserts, its best' '>= 2' \
        'holdfast_lease rate 64' -- 'pgbench_upsert_twice rate 8' 'pgbench_upsert_twice rate 16' 'pgbench_upsert_twice rate 32'
}
