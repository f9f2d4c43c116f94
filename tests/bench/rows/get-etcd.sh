# Reads, against etcd's own JSON over HTTP.
row_get_etcd() {
    need etcd service || return
    pair 'GET, 64 connections / etcd range, JSON gateway' '>= 4' 'holdfast_get rate 64' -- 'etcd_range rate 64'
}
