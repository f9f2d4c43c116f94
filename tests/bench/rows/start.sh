# How soon a service whose database is there and migrated is ready.
row_start() {
    local taken=() i
    need service || return
    for ((i = 0; i < rounds; i++)); do
        taken+=("$(start_ms)") || return
    done
    report 'start with a migrated database to ready, ms' '<= 500' "$(median "${taken[@]}")" "$(range "${taken[@]}")"
}
