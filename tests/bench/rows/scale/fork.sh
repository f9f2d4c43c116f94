# A severed fork of many entries: what it costs to make, and reads through it.
row_scale_fork() {
    local taken=() i
    need large_service || return
    for ((i = 0; i < rounds; i++)); do
        taken+=("$(make_fork "$large_service" "made-$i")") || return
        discard_fork "$large_service" "made-$i" || return
    done
    report "severed fork of $many entries, ms" '<= 20' "$(median "${taken[@]}")" "$(range "${taken[@]}")"
    make_fork "$large_service" bench >/dev/null || return
    pair "GET through a severed fork of $many entries / GET" '>= 0.5' 'large_fork_get rate 64' -- 'large_get rate 64' || return
    discard_fork "$large_service" bench
}
