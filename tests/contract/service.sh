# Starts and stops one private service for a test: the real binary on its private PostgreSQL, in a folder of its own.

# Sets service_url, service_pid and service_folder. Fails, with the service's log on standard error, when it does not
# come up within a minute.
service_start() {
    service_folder=$(mktemp -d)
    chmod 755 "$service_folder" # started as root, the private PostgreSQL runs as another user
    HOLDFAST_METRICS=true "$HOLDFAST_BUILD/holdfast" serve --listen 127.0.0.1:0 --data "$service_folder/data" \
        >"$service_folder/out" 2>"$service_folder/log" &
    service_pid=$!
    local _
    for _ in $(seq 600); do
        service_url=$(sed -n 's/^listening on //p' "$service_folder/out")
        if [ -n "$service_url" ] && curl -sf -o /dev/null "$service_url/readyz"; then
            return 0
        fi
        kill -0 "$service_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$service_folder/log" >&2
    service_stop
    return 1
}

service_stop() {
    [ -n "${service_pid:-}" ] || return 0
    kill "$service_pid" 2>/dev/null
    wait "$service_pid" 2>/dev/null
    service_pid=
    rm -rf "$service_folder"
}
