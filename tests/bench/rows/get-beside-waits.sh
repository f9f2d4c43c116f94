# Reads while ten thousand others wait, against reads alone.
row_get_beside_waits() {
    need service || return
    pair "GET, 64 connections, beside $parked parked waits / without" '>= 0.7' \
        'holdfast_get_beside rate 64' -- 'holdfast_get rate 64'
}
