# Pages of a hundred entries, and the same from the table that a user would write by hand.

# holdfast_page METRIC CONNECTIONS
holdfast_page() {
    load "$1" "$service" "$2" --request 'GET /v1/buckets/bench/entries?start={key}&limit=100' --status 200 \
        --reply-has '"text":"{value}"}'
}

# pgbench_page METRIC CLIENTS
pgbench_page() {
    pgbench_run "$1" "$2" "$here/pgbench/select-page.sql"
}
