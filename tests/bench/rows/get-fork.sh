# Reads through a severed fork, against reads of the main data.
row_get_fork() {
    need service || return
    make_fork "$service" bench >/dev/null || return
    pair 'GET through a severed fork, 64 connections / GET' '>= 0.5' 'fork_get rate 64' -- 'holdfast_get rate 64' || return
    discard_fork "$service" bench
}
