# Reads, against the HTTP library alone: what the database and the work around it cost.
row_get_ceiling() {
    need service ceiling || return
    pair 'GET, 64 connections / constant libmicrohttpd answer' '>= 0.75' \
        'holdfast_get rate 64' -- 'ceiling_get rate 64'
}
