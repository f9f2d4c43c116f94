# Runs the service as the first process of a namespace, as a container does: it obeys signals and leaves no dead process.

# Prints the ids, as they are here, of the children of a process, which must have started them in its first thread.
children_of() {
    tr " " "\n" <"/proc/$1/task/$1/children" | grep .
}

# Polls the command for twenty seconds.
soon() {
    local _
    for _ in $(seq 200); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}

first_process_ready() {
    curl -sf -o /dev/null "$(sed -n 's/^listening on //p' "$first_folder/out")/readyz"
}

has_no_zombie() {
    [[ $(ps -o stat= --ppid "$first_pid") != *Z* ]]
}

# Whether another private PostgreSQL than $1 runs.
has_other_postgres() {
    local now
    now=$(children_of "$first_pid")
    [ -n "$now" ] && ! grep -qx "$1" <<<"$now"
}

# Killed, the private PostgreSQL leaves its own processes to the first process, which starts another.
check_first_process_reaps() {
    local postgres
    postgres=$(children_of "$first_pid" | head -n 1)
    kill -9 "$postgres"
    if soon has_other_postgres "$postgres" && soon first_process_ready && soon has_no_zombie; then
        pass
    else
        fail 'as first process: what a killed PostgreSQL leaves behind is reaped' "$(ps -o pid,stat,args --ppid "$first_pid")"
    fi
}

check_first_process_stops() {
    kill -TERM "$first_pid"
    if wait "$first_parent"; then pass; else fail 'as first process: SIGTERM ends it well' "$(cat "$first_folder/log")"; fi
}

check_first_process() {
    if [ "$EUID" -ne 0 ] || ! unshare --pid --fork --mount-proc true 2>/dev/null; then
        echo 'skipped: the service is not run as first process, namespaces are not allowed here'
        return
    fi
    first_folder=$(mktemp -d)
    chmod 755 "$first_folder"
    unshare --pid --fork --kill-child --mount-proc "$HOLDFAST_BUILD/holdfast" serve --listen 127.0.0.1:0 \
        --data "$first_folder/data" >"$first_folder/out" 2>"$first_folder/log" &
    first_parent=$!
    if soon first_process_ready; then
        first_pid=$(children_of "$first_parent")
        check_first_process_reaps
        check_first_process_stops
    else
        fail 'as first process it starts' "$(cat "$first_folder/log")"
        kill -9 "$first_parent"
    fi
    rm -rf "$first_folder"
}
