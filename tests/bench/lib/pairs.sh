# Two writes that belong together: a transaction over two buckets, and BEGIN..COMMIT over two tables by hand.

pairs_made=''

need_pairs() {
    [[ -z $pairs_made ]] || return 0
    need_service && need_pgbench || return
    sql "$bench_database" 'create table pairs (like entries including all); insert into pairs select * from entries' || return
    say "loading the second of $keys pairs"
    fill "$service" --request 'PUT /v1/buckets/bench-pairs/entries/{key}' --header 'Content-Type: text/plain' \
        --body '{value}' --status 201 || return
    pairs_made=yes
}

# holdfast_pair METRIC CONNECTIONS
holdfast_pair() {
    load "$1" "$service" "$2" --request 'POST /v1/transactions' --header 'Content-Type: application/json' \
        --body '{"operations":[{"op":"put","bucket":"bench","key":"{key}","text":"{value}"},{"op":"put","bucket":"bench-pairs","key":"{key}","text":"{value}"}]}' \
        --status 200 --reply-has '"results":'
}

# pgbench_pair METRIC CLIENTS
pgbench_pair() {
    pgbench_run "$1" "$2" "$here/pgbench/pair.sql"
}
