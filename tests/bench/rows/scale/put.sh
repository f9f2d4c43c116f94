# Durable writes among many entries, against writes among few.
row_scale_put() {
    need large_service service || return
    pair "PUT, 64 connections, $many entries / $keys" '>= 0.8' 'large_put rate 64' -- 'holdfast_put rate 64'
}
