# Durable writes while five severed forks are open, which is when each first overwrite saves what was there.
row_put_beside_forks() {
    need service || return
    pair 'PUT, 64 connections, five severed forks open / none' '>= 0.5' 'put_beside_forks rate 64' -- 'holdfast_put rate 64'
}
