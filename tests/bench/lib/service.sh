# The service on its private PostgreSQL, and a table on that same server for what a user would write by hand.

service=''         # its address
bucket=bench       # whose entries are measured
service_process='' # its id
postgres_bin=''    # the folder of pgbench and psql
bench_database=''  # a connection string to the table for pgbench

find_postgres_bin() {
    local folder
    for folder in /usr/lib/postgresql/*/bin; do
        [[ ! -x $folder/pgbench ]] || postgres_bin=$folder
    done
    [[ -n $postgres_bin ]] || postgres_bin=$(dirname "$(command -v pgbench)" 2>/dev/null)
}

service_address() {
    [[ $(cat "$work_folder/holdfast.out") =~ http://([0-9.:]+) ]] && service=${BASH_REMATCH[1]} &&
        answers "$service" /readyz
}

need_service() {
    [[ -z $service ]] || return 0
    start holdfast "$build/holdfast" serve --listen 127.0.0.1:0 --data "$work_folder/data" --log-level warn
    service_process=${started[-1]}
    wait_for holdfast 60 service_address || return
    load_entries
}

# Puts `keys` entries of `value_size` bytes into the bucket.
load_entries() {
    say "loading $keys entries of $value_size bytes"
    fill "$service" --request "PUT /v1/buckets/$bucket/entries/{key}" --header 'Content-Type: text/plain' \
        --body '{value}' --status 201 || return
    settle 'host='"$work_folder"'/data/socket user=holdfast dbname=holdfast'
}

# start_ms: milliseconds from the start of another process of the service on the same database to its first 200 on /readyz.
start_ms() {
    local port process begun
    port=$(free_port)
    begun=$(date +%s%N)
    "$build/holdfast" serve --listen "127.0.0.1:$port" --log-level warn \
        --database "host=$work_folder/data/socket user=holdfast dbname=holdfast" >"$work_folder/probe" 2>&1 &
    process=$!
    until answers "127.0.0.1:$port" /readyz 2>/dev/null; do
        kill -0 "$process" 2>/dev/null || return
        sleep 0.005
    done
    echo $((($(date +%s%N) - begun) / 1000000))
    stop_one "$process"
}

# settle DATABASE: what loading left behind is cleaned up now, not during a measurement, and all tables are in memory.
settle() {
    sql "$1" 'vacuum analyze; checkpoint; create extension if not exists pg_prewarm' || return
    sql "$1" "select sum(pg_prewarm(oid)) from pg_class
        where relkind in ('r', 'i', 't') and relnamespace::regnamespace::text not like 'pg\\_cat%'" >"$work_folder/probe"
}

sql() {
    local database=$1 statement
    local IFS=';'
    for statement in $2; do
        "$postgres_bin/psql" --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 \
            --command="$statement" "$database" || return
    done
}

# The server keeps what it acknowledges: without that a durable write would be compared with nothing.
check_durable() {
    local settings
    settings=$(sql "$1" "select string_agg(setting, ' ' order by name) from pg_settings
        where name in ('fsync', 'synchronous_commit')") || return
    [[ $settings == 'on on' ]] || {
        say "the private PostgreSQL runs with fsync and synchronous_commit: $settings"
        return 1
    }
}

need_pgbench() {
    [[ -z $bench_database ]] || return 0
    [[ -n $postgres_bin ]] || skip 'pgbench is not installed' || return
    need_service || return
    local server="host=$work_folder/data/socket user=holdfast"
    check_durable "$server dbname=holdfast" || return
    say "loading $keys rows for pgbench"
    sql "$server dbname=holdfast" 'create database holdfast_bench' || return
    sql "$server dbname=holdfast_bench" "
        create table entries (key bytea primary key, value bytea not null);
        insert into entries select convert_to((100000000 + i)::text, 'UTF8'),
            convert_to((100000000 + i)::text || substr('$(value_example)', 10), 'UTF8')
            from generate_series(0, $keys - 1) i" || return
    settle "$server dbname=holdfast_bench" || return
    bench_database="$server dbname=holdfast_bench"
}

# holdfast_get METRIC CONNECTIONS
holdfast_get() {
    load "$1" "$service" "$2" --request "GET /v1/buckets/$bucket/entries/{key}" --status 200 --reply '{value}'
}

# holdfast_put METRIC CONNECTIONS
holdfast_put() {
    load "$1" "$service" "$2" --request "PUT /v1/buckets/$bucket/entries/{key}" --header 'Content-Type: text/plain' \
        --body '{value}' --status 204
}

# pgbench_select METRIC CLIENTS
pgbench_select() {
    pgbench_run "$1" "$2" "$here/pgbench/select.sql"
}

# pgbench_upsert METRIC CLIENTS
pgbench_upsert() {
    pgbench_run "$1" "$2" "$here/pgbench/upsert.sql"
}

need_locks() {
    [[ $(sql "$bench_database" "select to_regclass('locks') is not null") == f ]] || return 0
    sql "$bench_database" "
        create table locks (key bytea primary key, holder text not null, expires_at timestamptz not null);
        insert into locks select convert_to((100000000 + i)::text, 'UTF8'), 'worker', '-infinity'
            from generate_series(0, $keys - 1) i" || return
    say "acquiring $keys leases"
    fill "$service" --request 'POST /v1/buckets/bench/leases/{key}' --body '{"holder":"worker","ttl":"100ms"}' --status 201 ||
        return
    settle "$bench_database" && settle 'host='"$work_folder"'/data/socket user=holdfast dbname=holdfast'
}

# holdfast_lease METRIC CONNECTIONS: pairs of an acquire and a release, of leases that nobody else wants.
holdfast_lease() {
    load "$1" "$service" "$2" --request 'POST /v1/buckets/bench/leases/{key}' --body '{"holder":"worker","ttl":"30s"}' \
        --status 201 --status 200 --apart --take '"token":"' --reply-has '"holder":"worker"' \
        --then 'DELETE /v1/buckets/bench/leases/{key}?holder=worker&token={answer}' \
        --then-reply '{"released":true}'$'\n'
}

# pgbench_upsert_twice METRIC CLIENTS
pgbench_upsert_twice() {
    pgbench_run "$1" "$2" "$here/pgbench/upsert-twice.sql"
}
