# One number that everybody adds to: an entry, and a row of a table for what a user would write by hand.

hits_made=''

need_hits() {
    [[ -z $hits_made ]] || return 0
    need_pgbench || return
    sql "$bench_database" "create table hits (name text primary key, n bigint not null);
        insert into hits values ('bench', 0)" || return
    hits_made=yes
}

# holdfast_add METRIC CONNECTIONS
holdfast_add() {
    load "$1" "$service" "$2" --request 'POST /v1/buckets/bench-numbers/entries/hits/add' \
        --header 'Content-Type: application/json' --body '{"by":1}' --status 200 --reply-has '{"value":'
}

# pgbench_increment METRIC CLIENTS
pgbench_increment() {
    pgbench_run "$1" "$2" "$here/pgbench/increment.sql"
}
