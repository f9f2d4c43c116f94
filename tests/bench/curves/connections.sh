# How rate and latency move with the number of clients, beside the prepared statements that a user would write by hand: one
# database session each, of which nobody has a thousand.
by_hand_most=64

curve_connections() {
    local connections columns by_hand
    need_service || return
    need_pgbench || [[ -n $skip_reason ]] || return
    mapfile -t columns < <(figure_columns get put select upsert)
    begin_table connections "${columns[@]}"
    for connections in 1 2 4 8 16 32 64 128 256 512 1000; do
        by_hand=(- -)
        [[ -z $bench_database ]] || ((connections > by_hand_most)) ||
            by_hand=("pgbench_select all $connections" "pgbench_upsert all $connections")
        point "$connections" "holdfast_get all $connections" "holdfast_put all $connections" "${by_hand[@]}"
    done
}

describe_connections() {
    printf 'title\tOne to a thousand connections, a hundred thousand entries of %s bytes\n' "$value_size"
    printf 'size\t2\t370\t170\n'
    printf 'x\tconnections\tlog\tcount\n'
    describe_charts log yes
}
