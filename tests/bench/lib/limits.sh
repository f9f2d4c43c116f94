# What the rows about counters, rate limits and quotas ask of the service.

# declare_name PATH CONFIGURATION
declare_name() {
    curl -sf -o /dev/null -X PUT "http://$service/v1/$1" -H 'Content-Type: application/json' -d "$2"
}

need_limits() {
    [[ -z ${limits_declared:-} ]] || return 0
    declare_name counters/bench-counter '{}' &&
        declare_name rate-limits/bench-limit '{"rate":"1000000/s","burst":1000000}' &&
        declare_name rate-limits/bench-losing '{"rate":"1000000/s","burst":1000000,"lose_at_most":"1s"}' &&
        declare_name quotas/bench-quota '{"windows":{"session":"1000000/5h","weekly":"100000000/7d"}}' || return
    limits_declared=yes
}

need_quota_keys() {
    [[ -z ${quota_keys_used:-} ]] || return 0
    say "using $keys keys of a quota"
    fill "$service" --request 'POST /v1/quotas/bench-quota/{key}/allow' --status 200 --reply-has '"ok":true' || return
    settle 'host='"$work_folder"'/data/socket user=holdfast dbname=holdfast' || return
    quota_keys_used=yes
}

# holdfast_count METRIC CONNECTIONS
holdfast_count() {
    load "$1" "$service" "$2" --request 'POST /v1/counters/bench-counter/one/add' --status 200 --reply-has '"value":'
}

# holdfast_allow METRIC CONNECTIONS [NAME]
holdfast_allow() {
    load "$1" "$service" "$2" --request "POST /v1/rate-limits/${3:-bench-limit}/one/allow" --status 200 \
        --reply-has '"ok":true'
}

# holdfast_quota METRIC CONNECTIONS
holdfast_quota() {
    load "$1" "$service" "$2" --request 'POST /v1/quotas/bench-quota/{key}/allow' --status 200 --reply-has '"ok":true'
}
