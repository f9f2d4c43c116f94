# What the HTTP hop adds to a lone read.
row_get_latency() {
    need service pgbench || return
    pair 'GET, 1 connection, latency / pgbench SELECT, 1 client' '<= 2.5' \
        'holdfast_get median_us 1' -- 'pgbench_select median_us 1'
}
