# A snapshot that somebody holds open for a minute: no row version that it sees can be freed meanwhile.

snapshot_seconds=60

# beside_snapshot METRIC COMMAND...: full load for as long as the snapshot is open.
beside_snapshot() {
    local database='host='"$work_folder"'/data/socket user=holdfast dbname=holdfast' seconds=$snapshot_seconds holder number
    "$postgres_bin/psql" --no-psqlrc --quiet --output="$work_folder/probe" "$database" <<SQL &
begin isolation level repeatable read;
select count(*) from holdfast.buckets;
select pg_sleep($((snapshot_seconds + 30)));
SQL
    holder=$!
    sleep 0.5
    number=$("${@:2}" "$1" 64)
    kill "$holder" 2>/dev/null
    wait "$holder" 2>/dev/null
    sql "$database" "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep%'" \
        >"$work_folder/probe"
    settle "$database" || return
    [[ -n $number ]] && echo "$number"
}
