# How rate and latency move with the number of entries.
curve_entries() {
    local many=$entries_up_to count columns
    start_large || return
    mapfile -t columns < <(figure_columns get put)
    begin_table entries "${columns[@]}"
    for count in 1000 10000 100000 1000000 10000000; do
        ((count <= entries_up_to)) || break
        grow_large "$count" || return
        many=$count
        point "$count" 'large_get all 64' 'large_put all 64'
    done
}

# The rates stand in a linear axis, where a loss of a tenth can be seen.
describe_entries() {
    printf 'title\tFrom a thousand entries of %s bytes on, 64 connections\n' "$value_size"
    printf 'size\t2\t370\t170\n'
    printf 'x\tentries\tlog\tcount\n'
    describe_charts linear no
}
