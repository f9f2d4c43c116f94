# Durable writes, against the prepared upsert that a user would write by hand.
row_put() {
    need service pgbench || return
    pair 'PUT, 64 connections / pgbench prepared upsert, its best' '>= 4.0' \
        'holdfast_put rate 64' -- 'pgbench_upsert rate 8' 'pgbench_upsert rate 16' 'pgbench_upsert rate 32'
}
