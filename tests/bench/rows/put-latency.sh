# What the HTTP hop adds to a lone durable write.
row_put_latency() {
    need service pgbench || return
    pair 'PUT, 1 connection, latency / pgbench upsert, 1 client' '<= 1.5' \
        'holdfast_put median_us 1' -- 'pgbench_upsert median_us 1'
}
