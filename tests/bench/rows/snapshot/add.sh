# Sums on one hot key while somebody holds a snapshot open, against those without.
row_snapshot_add() {
    need service hits || return
    pair "add on one key, 64 connections, beside a snapshot of $snapshot_seconds s / without" '>= 0.75' \
        'beside_snapshot rate holdfast_add' -- 'holdfast_add rate 64'
}
