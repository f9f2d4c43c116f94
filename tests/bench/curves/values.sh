# How rate and latency move with the size of values.

# sized SIZE COMMAND...: a measurement of entries of this size, in a bucket of their own.
sized() {
    local value_size=$1 bucket=values-$1 keys
    keys=$(keys_of_size "$1")
    "${@:2}"
}

# A quarter of a gigabyte, so that large ones do not take the disk's time for their number; few enough to be in memory.
keys_of_size() {
    local most=$(((256 << 20) / $1))
    echo $((most < 10000 ? most : 10000))
}

curve_values() {
    local size columns
    need_service || return
    mapfile -t columns < <(figure_columns get put)
    begin_table bytes "${columns[@]}"
    for size in 16 256 1024 4096 16384 65536 262144 1048576; do
        sized "$size" load_entries || return
        point "$size" "sized $size holdfast_get all 64" "sized $size holdfast_put all 64"
    done
    add_volumes
}

# The rates in MB a second, which is what large values are limited by.
add_volumes() {
    local with=$curve_table.with
    awk -F '\t' -v OFS='\t' '
        function volume(rate) { return rate ~ /^[0-9.]+$/ ? sprintf("%.2f", rate * $1 / 1e6) : rate }
        NR == 1 { print $0, "get_mb", "put_mb"; next }
        { print $0, volume($2), volume($5) }' "$curve_table" >"$with" && mv "$with" "$curve_table"
}

describe_values() {
    printf 'title\tValues from 16 bytes to a mebibyte, 64 connections\n'
    printf 'size\t2\t370\t170\n'
    printf 'x\tsize of a value\tlog\tbytes\n'
    describe_charts log no
    printf 'chart\tGET, MB a second\tlog\tplain\nline\tget_mb\tGET\t1\n'
    printf 'chart\tdurable PUT, MB a second\tlog\tplain\nline\tput_mb\tdurable PUT\t1\n'
}
