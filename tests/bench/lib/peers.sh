# Private instances of what the service is compared with, on loopback, with their data in the work folder.

webdis=''
etcd=''
ceiling=''

# need_programs NAME...: skips the row when one is missing.
need_programs() {
    local name
    for name; do
        command -v "$name" >/dev/null || skip "$name is not installed (tests/bench/peers installs it)" || return
    done
}

start_redis() {
    mkdir "$work_folder/redis-data" || return
    start redis redis-server --bind 127.0.0.1 --port "$1" --dir "$work_folder/redis-data" --save '' \
        --appendonly yes --appendfsync always
    wait_for redis 10 redis-cli -h 127.0.0.1 -p "$1" --no-raw ping
}

# Two threads, as it comes; one or four were not faster on two cores.
start_webdis() {
    cat >"$work_folder/webdis.json" <<JSON
{"redis_host": "127.0.0.1", "redis_port": $2, "redis_auth": null, "http_host": "127.0.0.1", "http_port": $1,
 "threads": 2, "daemonize": false, "database": 0, "verbosity": 0, "logfile": "$work_folder/webdis-own.log"}
JSON
    start webdis webdis "$work_folder/webdis.json"
    wait_for webdis 10 answers "127.0.0.1:$1" /PING
}

need_webdis() {
    [[ -z $webdis ]] || return 0
    need_programs redis-server redis-cli webdis || return
    local redis_port webdis_port
    redis_port=$(free_port)
    start_redis "$redis_port" || return
    webdis_port=$(free_port)
    start_webdis "$webdis_port" "$redis_port" || return
    fill "127.0.0.1:$webdis_port" --request 'PUT /SET/{key}' --body '{value}' --status 200 \
        --reply '{"SET":[true,"OK"]}' || return
    webdis=127.0.0.1:$webdis_port
}

# webdis_get METRIC CONNECTIONS
webdis_get() {
    load "$1" "$webdis" "$2" --request 'GET /GET/{key}' --status 200 --reply '{"GET":"{value}"}'
}

# webdis_set METRIC CONNECTIONS
webdis_set() {
    load "$1" "$webdis" "$2" --request 'PUT /SET/{key}' --body '{value}' --status 200 --reply '{"SET":[true,"OK"]}'
}

need_etcd() {
    [[ -z $etcd ]] || return 0
    need_programs etcd || return
    local clients peers
    clients=127.0.0.1:$(free_port)
    peers=127.0.0.1:$(free_port)
    start etcd etcd --data-dir "$work_folder/etcd-data" --logger zap --log-level error \
        --listen-client-urls "http://$clients" --advertise-client-urls "http://$clients" \
        --listen-peer-urls "http://$peers" --initial-advertise-peer-urls "http://$peers" \
        --initial-cluster "default=http://$peers"
    wait_for etcd 20 answers "$clients" /health || return
    etcd=$clients
    fill "$etcd" "${etcd_put_request[@]}"
}

etcd_put_request=(--request 'POST /v3/kv/put' --header 'Content-Type: application/json'
    --body '{"key":"{key64}","value":"{value64}"}' --status 200 --reply-has '"revision":"')

# etcd_put METRIC CONNECTIONS
etcd_put() {
    load "$1" "$etcd" "$2" "${etcd_put_request[@]}"
}

# etcd_range METRIC CONNECTIONS
etcd_range() {
    load "$1" "$etcd" "$2" --request 'POST /v3/kv/range' --header 'Content-Type: application/json' \
        --body '{"key":"{key64}"}' --status 200 --reply-has '"value":"{value64}"'
}

ceiling_address() {
    [[ $(cat "$work_folder/ceiling.out") =~ http://([0-9.:]+) ]] && ceiling=${BASH_REMATCH[1]}
}

need_ceiling() {
    [[ -z $ceiling ]] || return 0
    start ceiling "$build/tests/bench-ceiling"
    wait_for ceiling 10 ceiling_address
}

# ceiling_get METRIC CONNECTIONS
ceiling_get() {
    local body
    printf -v body '%200s' ''
    load "$1" "$ceiling" "$2" --request 'GET /v1/buckets/bench/entries/{key}' --status 200 --reply "${body// /x}"
}
