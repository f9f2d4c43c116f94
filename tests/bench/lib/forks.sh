# Forks that are open beside what is measured, or that it goes through.

# make_fork ADDRESS ID: prints how many milliseconds it took.
make_fork() {
    local seconds_taken
    seconds_taken=$(curl -fsS -o "$work_folder/probe" -w '%{time_total}' -X PUT "http://$1/v1/forks/$2" \
        --json '{"kind":"severed"}') || return
    awk "BEGIN { print $seconds_taken * 1000 }"
}

# discard_fork ADDRESS ID
discard_fork() {
    curl -fsS -o "$work_folder/probe" -X DELETE "http://$1/v1/forks/$2"
}

# fork_get METRIC CONNECTIONS: reads through the fork `bench`, which is open, of `service`.
fork_get() {
    load "$1" "$service" "$2" --request 'GET /v1/buckets/bench/entries/{key}?fork=bench' --status 200 --reply '{value}'
}

# large_fork_get METRIC CONNECTIONS: the same of the large service.
large_fork_get() {
    large "$1" "$2" fork_get
}

# put_beside_forks METRIC CONNECTIONS: writes while five severed forks see what was there.
put_beside_forks() {
    local number i
    for i in 1 2 3 4 5; do
        make_fork "$service" "beside-$i" >/dev/null || return
    done
    number=$(holdfast_put "$1" "$2")
    for i in 1 2 3 4 5; do
        discard_fork "$service" "beside-$i" || return
    done
    [[ -n $number ]] && echo "$number"
}
