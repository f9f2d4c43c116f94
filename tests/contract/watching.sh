# Checks that the dashboard and the alerts ask for metrics that the service tells.

# The metrics' names in the expressions on standard input.
metric_names() {
    grep -oE '\b(holdfast|process)_[a-z_]+' | sort -u
}

dashboard_names() {
    jq -er '.panels[].targets[].expr, .templating.list[].query' "$checkout/deploy/grafana/holdfast.json" | metric_names
}

alert_names() {
    sed -n 's/^ *expr: //p' "$checkout/deploy/prometheus/alerts.yaml" | metric_names
}

# Sets told to the names of all samples of a scrape; waits for what is told only after a first step of the sweeper.
scrape_names() {
    local _
    for _ in $(seq 100); do
        told=$(curl -sf "$service_url/metrics" | sed -n 's/^\([a-z_]*\)[{ ].*/\1/p' | sort -u)
        ! grep -qx holdfast_sweeper_lag_seconds <<<"$told" || return 0
        sleep 0.1
    done
    return 1
}

# check_names FILE NAMES
check_names() {
    local missing
    missing=$(comm -23 <(echo "$2") <(echo "$told"))
    if [ -n "$2" ] && [ -z "$missing" ]; then
        pass
    else
        fail "$1 asks for metrics that are told" "$missing"
    fi
}

check_alert_rules() {
    local rules exprs
    rules=$(grep -c '^ *- alert: ' "$checkout/deploy/prometheus/alerts.yaml")
    exprs=$(grep -c '^ *expr: .' "$checkout/deploy/prometheus/alerts.yaml")
    if [ "$rules" -gt 0 ] && [ "$rules" = "$exprs" ]; then
        pass
    else
        fail 'every alert has an expression in one line'
    fi
}

check_watching() {
    local told
    if scrape_names; then
        check_names deploy/grafana/holdfast.json "$(dashboard_names)"
        check_names deploy/prometheus/alerts.yaml "$(alert_names)"
    else
        fail '/metrics tells what the sweeper owes'
    fi
    check_alert_rules
}
