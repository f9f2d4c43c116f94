# Durable writes while somebody holds a snapshot open, against those without.
row_snapshot_put() {
    need service || return
    pair "PUT, 64 connections, beside a snapshot of $snapshot_seconds s / without" '>= 0.5' \
        'beside_snapshot rate holdfast_put' -- 'holdfast_put rate 64'
}
