# Runs of `once`, each begun and answered by the same client.

need_once() {
    [[ -z ${once_declared:-} ]] || return 0
    need_locks || return
    # An answer is over at once, so that every key may be run again.
    declare_name once/bench-once '{"ttl":"1ms","run_ttl":"30s"}' || return
    say "running $keys keys once"
    fill "$service" --request 'POST /v1/once/bench-once/{key}' --status 201 --status 204 --take '"token":"' \
        --then 'PUT /v1/once/bench-once/{key}/answer?token={answer}' || return
    settle 'host='"$work_folder"'/data/socket user=holdfast dbname=holdfast' || return
    once_declared=yes
}

# holdfast_once METRIC CONNECTIONS: pairs of a run begun and its answer given, of keys that nobody else wants.
holdfast_once() {
    load "$1" "$service" "$2" --request 'POST /v1/once/bench-once/{key}' --status 201 --status 204 --apart \
        --take '"token":"' --then 'PUT /v1/once/bench-once/{key}/answer?token={answer}'
}
