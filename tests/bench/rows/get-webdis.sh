# Reads, against Redis behind its HTTP front.
row_get_webdis() {
    need webdis service || return
    pair 'GET, 64 connections / webdis GET' '>= 1.2' 'holdfast_get rate 64' -- 'webdis_get rate 64'
}
