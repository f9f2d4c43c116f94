# Reads among many entries, against reads among few.
row_scale_get() {
    need large_service service || return
    pair "GET, 64 connections, $many entries / $keys" '>= 0.85' 'large_get rate 64' -- 'holdfast_get rate 64'
}
