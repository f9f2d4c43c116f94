# What ten thousand parked waits cost, and how soon they hear of a write.
row_waits() {
    local memory=() wakes=() i
    need service || return
    for ((i = 0; i < rounds; i++)); do
        hold_waits || return
        let_go
        memory+=("$(awk "BEGIN { print $(field grown_kb "$held") / 1024 }")")
        wakes+=("$(wake_ms)") || return
        say "  $parked waits: ${memory[-1]} MB, woken in ${wakes[-1]} ms"
    done
    # The memory of the first round stays with the process: what the later ones add is less.
    report "$parked parked waits, MB above idle" '<= 200' "${memory[0]}"
    report "$parked waits woken by one write, ms" '<= 1000' "$(median "${wakes[@]}")" "$(range "${wakes[@]}")"
}
