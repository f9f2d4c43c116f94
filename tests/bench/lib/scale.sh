# A second service with many more entries, loaded by one statement on its own database.

large_service=''      # its address
large_entries=0       # how many it has
large_pages_before='' # how many the system had reserved

large_service_address() {
    [[ $(cat "$work_folder/large.out") =~ http://([0-9.:]+) ]] && large_service=${BASH_REMATCH[1]} &&
        answers "$large_service" /readyz
}

# Rows, index and the log of writing them together are less than a kilobyte an entry.
check_room() {
    local free needed=$((many * 1000))
    free=$(df --output=avail -B1 "$work_folder" | tail -n 1)
    ((free > needed)) || skip "$many entries take $((needed / 1000000)) MB of disk in ${work_folder%/*}"
}

# grow_large COUNT: adds entries to the large service until it has as many.
grow_large() {
    local database="host=$work_folder/large/socket user=holdfast dbname=holdfast"
    say "loading entries until there are $1"
    "$postgres_bin/psql" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=first="$large_entries" --set=many="$1" \
        --set=value="$(value_example)" --output="$work_folder/probe" --file="$here/scale/entries.sql" \
        "$database" || return
    large_entries=$1
    settle "$database"
}

# Gigabytes of shared memory in pages of 4 KB cost a miss of the processor's page tables at every look-up; a server with such
# a store reserves large pages (README), and so does this, when it may, for both services.
reserve_large_pages() {
    local size=/proc/sys/vm/nr_hugepages memory
    large_pages_before=$(cat "$size")
    memory=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
    { echo $((memory / 4 + 300)) >"$size"; } 2>/dev/null || say 'no large pages: they are not ours to reserve'
}

release_large_pages() {
    [[ -z $large_pages_before ]] || { echo "$large_pages_before" >/proc/sys/vm/nr_hugepages; } 2>/dev/null
}

# Starts it without entries, on a disk that has room for `many`.
start_large() {
    [[ -n $postgres_bin ]] || skip 'psql is not installed' || return
    check_room || return
    reserve_large_pages
    start large "$build/holdfast" serve --listen 127.0.0.1:0 --data "$work_folder/large" --log-level warn
    wait_for large 60 large_service_address || return
    check_durable "host=$work_folder/large/socket user=holdfast dbname=holdfast" || return
    curl -fsS -o "$work_folder/probe" -X PUT "http://$large_service/v1/buckets/bench"
}

need_large_service() {
    [[ -n $large_service ]] || start_large || return
    ((large_entries == many)) || grow_large "$many"
}

# large METRIC CONNECTIONS COMMAND: one of the service's measurements, on the large one.
large() {
    local service=$large_service keys=$many
    "$3" "$1" "$2"
}

# large_get METRIC CONNECTIONS
large_get() {
    large "$1" "$2" holdfast_get
}

# large_put METRIC CONNECTIONS
large_put() {
    large "$1" "$2" holdfast_put
}
