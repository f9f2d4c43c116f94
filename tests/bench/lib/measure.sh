# One measurement: each function here prints one number, or all that was measured, and fails when an answer was wrong.

value_size=200 # bytes

# load METRIC ADDRESS CONNECTIONS OPTION...: METRIC is a field of what bench-load prints (rate, median_us, p99_us ...), or
# `all` for the whole line.
load() {
    local metric=$1 address=$2 connections=$3 line
    shift 3
    line=$("$build/tests/bench-load" --connect "$address" --connections "$connections" --seconds "$seconds" \
        --keys "$keys" --value-size "$value_size" "$@") || return
    if [[ $metric == all ]]; then
        echo "$line"
    else
        field "$metric" "$line"
    fi
}

# field NAME TEXT: the number behind NAME=.
field() {
    [[ " $2" =~ \ $1=([0-9.]+) ]] && echo "${BASH_REMATCH[1]}"
}

# fill ADDRESS OPTION...: sends the request once for every key.
fill() {
    load requests "$1" 64 --each-key "${@:2}" >/dev/null
}

# pgbench_run METRIC CLIENTS SCRIPT: METRIC is rate (transactions a second), median_us, or all. Two threads, so that
# pgbench itself is not what limits its rate.
pgbench_run() {
    local metric=$1 clients=$2 script=$3 log=()
    rm -f "$work_folder"/latency.*
    [[ $metric == rate ]] || log=(--log --log-prefix="$work_folder/latency")
    "$postgres_bin/pgbench" --no-vacuum --protocol=prepared --client="$clients" --jobs=2 --time="$seconds" \
        --file="$script" --define="keys=$keys" --define="value=$(value_example)" "${log[@]}" "$bench_database" \
        >"$work_folder/pgbench.out" 2>&1 && "pgbench_$metric" && return
    say 'pgbench failed or counted nothing:'
    tail -n 3 "$work_folder/pgbench.out" >&2
    return 1
}

pgbench_rate() {
    [[ $(cat "$work_folder/pgbench.out") =~ 'tps = '([0-9.]+)' (without initial' ]] && echo "${BASH_REMATCH[1]}"
}

# pgbench itself prints only means; the third word of a line of its log is a transaction's microseconds.
# pgbench_percentile SHARE
pgbench_percentile() {
    cat "$work_folder"/latency.* | awk '{ print $3 }' | sort -n |
        awk -v share="$1" '{ all[NR] = $1 } END { if (!NR) exit 1; print all[int((NR - 1) * share) + 1] }'
}

pgbench_median_us() {
    pgbench_percentile 0.5
}

pgbench_all() {
    local rate median p99
    rate=$(pgbench_rate) && median=$(pgbench_percentile 0.5) && p99=$(pgbench_percentile 0.99) || return
    echo "rate=$rate median_us=$median p99_us=$p99"
}

# The value of the first key; those of others differ in their first nine bytes.
value_example() {
    "$build/tests/bench-load" --show-value --value-size "$value_size"
}
