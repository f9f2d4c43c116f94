# Durable writes, against etcd's own JSON over HTTP.
row_put_etcd() {
    need etcd service || return
    pair 'PUT, 64 connections / etcd put, JSON gateway' '>= 3' 'holdfast_put rate 64' -- 'etcd_put rate 64'
}
