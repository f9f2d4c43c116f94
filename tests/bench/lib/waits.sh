# Many clients that wait for one entry beside whatever else is measured.

parked=10000 # waits at once

# waits_client NUMBER WHAT: becomes bench-waits, which prints what it measured; for a subshell.
waits_client() {
    exec "$build/tests/bench-waits" --connect "$service" --path /v1/buckets/waits/entries/one --count "$1" \
        --process "$service_process" "$2"
}

# hold_waits: parks the waits in a process whose id is `holder`; let_go ends it. `held` is what it printed.
hold_waits() {
    local out=$work_folder/waits.out
    : >"$out"
    (waits_client "$parked" hold) >"$out" 2>>"$work_folder/waits.log" &
    holder=$!
    until [[ -s $out ]]; do
        kill -0 "$holder" 2>/dev/null || return 1
        sleep 0.1
    done
    held=$(cat "$out")
}

let_go() {
    kill "$holder" 2>/dev/null
    wait "$holder" 2>/dev/null
    sleep 1 # the service takes down as many connections
}

# wake_ms: from a write to the last reply of all that waited for it.
wake_ms() {
    field wake_ms "$(waits_client "$parked" wake)"
}

# wake_one_us: the median of one wait's wake-up.
wake_one_us() {
    field median_us "$(waits_client 500 one)"
}

# holdfast_get_beside METRIC CONNECTIONS: reads while the others wait.
holdfast_get_beside() {
    local number
    hold_waits || return
    number=$(holdfast_get "$1" "$2")
    let_go
    [[ -n $number ]] && echo "$number"
}
