# Durable writes, against Redis that syncs before it answers, behind its HTTP front.
row_put_webdis() {
    need webdis service || return
    pair 'PUT, 64 connections / webdis SET, appendfsync always' '>= 1.5' 'holdfast_put rate 64' -- 'webdis_set rate 64'
}
