# One measurement: each function here prints one number, and fails when an answer was wrong.

# load METRIC ADDRESS CONNECTIONS OPTION...: METRIC is a field of what bench-load prints (rate, median_us, p99_us ...).
load() {
    local metric=$1 address=$2 connections=$3 line
    shift 3
    line=$("$build/tests/bench-load" --connect "$address" --connections "$connections" --seconds "$seconds" \
        --keys "$keys" "$@") || return
    [[ " $line" =~ \ $metric=([0-9.]+) ]] && echo "${BASH_REMATCH[1]}"
}

# fill ADDRESS OPTION...: sends the request once for every key.
fill() {
    load requests "$1" 64 --each-key "${@:2}" >/dev/null
}

# pgbench_run METRIC CLIENTS SCRIPT: METRIC is rate (transactions a second) or median_us. Two threads, so that pgbench
# itself is not what limits its rate.
pgbench_run() {
    local metric=$1 clients=$2 script=$3 log=()
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
pgbench_median_us() {
    local numbers
    mapfile -t numbers < <(awk '{ print $3 }' "$work_folder"/latency.* && rm "$work_folder"/latency.*)
    ((${#numbers[@]} > 0)) && median "${numbers[@]}"
}

# 200 bytes, as bench-load makes them for the first key.
value_example() {
    local letters=abcdefghijklmnopqrstuvwxyz
    local filler=$letters$letters$letters$letters$letters$letters$letters$letters
    printf '%s' "100000000${filler:0:191}"
}
