# Runs the example for nginx's auth_request with a real nginx before a small application.

nginx_program=

# The installed nginx, else the Debian package's program, unpacked here so that no server is started for everybody.
find_nginx() {
    local folder=$HOLDFAST_BUILD/nginx
    nginx_program=$(command -v nginx) && return
    nginx_program=$folder/usr/sbin/nginx
    [ ! -x "$nginx_program" ] || return 0
    mkdir -p "$folder/packages" || return
    chmod 777 "$folder/packages"
    (
        cd "$folder/packages" || exit
        apt-get download nginx || { as_root apt-get update && apt-get download nginx; }
    ) >"$folder/log" 2>&1 && dpkg -x "$folder"/packages/nginx_*.deb "$folder" >>"$folder/log" 2>&1
    [ -x "$nginx_program" ]
}

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    else
        sudo -n -- "$@"
    fi
}

# nginx_configure FOLDER: the example on sockets in the folder, and an application that answers `served`, or 500.
nginx_configure() {
    {
        echo "daemon off; pid $1/pid; error_log $1/error.log; events {}"
        [ "$EUID" -ne 0 ] || echo 'user root;'
        echo "http { access_log off; client_body_temp_path $1/body; proxy_temp_path $1/proxy; fastcgi_temp_path $1/fastcgi;"
        echo "uwsgi_temp_path $1/uwsgi; scgi_temp_path $1/scgi;"
        sed -e "s|server 127.0.0.1:7070|server ${service_url#http://}|" -e "s|server 127.0.0.1:8080|server unix:$1/application|" \
            -e "s|listen 8000|listen unix:$1/front|" "$checkout/deploy/nginx/rate-limit.conf"
        sed -e "s|holdfast:7070|${service_url#http://}|; s|listen 8080|listen unix:$1/replicas|" \
            -e "s|upstream holdfast|upstream replicas|; s|http://holdfast|http://replicas|" "$checkout/deploy/nginx/replicas.conf"
        echo "server { listen unix:$1/application; location / { return 200 'served'; } location /broken { return 500; } }"
        echo '}'
    } >"$1/nginx.conf"
}

# through_nginx PATH: the status, and the headers in $nginx_folder/head.
through_nginx() {
    curl -s -o /dev/null -D "$nginx_folder/head" -w '%{http_code}' --unix-socket "$nginx_folder/front" "http://example$1"
}

# expect_through PATH STATUS
expect_through() {
    local got
    got=$(through_nginx "$1")
    if [ "$got" = "$2" ]; then
        pass
    else
        fail "nginx: $1 is not $2 but $got" "$(cat "$nginx_folder/head" "$nginx_folder/error.log")"
    fi
}

expect_head() {
    if grep -qi "^$1"$'\r'"*$" "$nginx_folder/head"; then
        pass
    else
        fail "nginx: no $1" "$(cat "$nginx_folder/head")"
    fi
}

wait_for_nginx() {
    local _
    for _ in $(seq 100); do
        [ ! -S "$nginx_folder/front" ] || return 0
        kill -0 "$nginx_pid" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# through_replicas METHOD PATH [CURL OPTION…]: the status, and the body in $nginx_folder/got.
through_replicas() {
    curl -s -o "$nginx_folder/got" -w '%{http_code}' --unix-socket "$nginx_folder/replicas" -X "$1" "http://example$2" "${@:3}"
}

# Keys of bytes that mean something to nginx, the largest value, a long wait and the service's own refusals come through as they are.
check_nginx_replicas() {
    local key=/v1/buckets/proxied/entries/a%2F%2Fb%FF%3F got
    head -c 8388608 /dev/zero >"$nginx_folder/large"
    got="$(through_replicas PUT "$key" --data-binary "@$nginx_folder/large") $(through_replicas GET "$key")"
    if [ "$got" = '201 200' ] && cmp -s "$nginx_folder/got" "$nginx_folder/large"; then
        pass
    else
        fail 'nginx: a value comes through under its key' "$got"
    fi
    got=$(through_replicas GET /v1/buckets/proxied/entries/none -H 'Prefer: wait=1')
    if [ "$got" = 404 ] && [[ $(cat "$nginx_folder/got") == *urn:holdfast:not_found* ]]; then
        pass
    else
        fail 'nginx: a wait and a refusal come through' "$got"
    fi
}

check_nginx() {
    local limit=$service_url/v1/rate-limits/api
    nginx_folder=$service_folder/nginx
    mkdir -p "$nginx_folder"
    if ! find_nginx; then
        fail 'nginx can be had from apt' "$(cat "$HOLDFAST_BUILD/nginx/log")"
        return
    fi
    nginx_configure "$nginx_folder"
    "$nginx_program" -p "$nginx_folder" -c "$nginx_folder/nginx.conf" 2>"$nginx_folder/start.log" &
    nginx_pid=$!
    if wait_for_nginx; then
        check_nginx_replicas
        expect_through / 503 # the limit is not declared yet
        curl -sf -o /dev/null -X PUT "$limit" --json '{"rate":"2/h","burst":2}'
        expect_through / 200
        expect_head 'RateLimit: "default";r=1;t=1800'
        expect_head 'RateLimit-Policy: "default";q=2;w=3600'
        expect_through /broken 500 # the application's own
        expect_through / 429
        expect_head 'Retry-After: [1-9][0-9]*'
        expect_head 'RateLimit: "default";r=0;t=[1-9][0-9]*'
        curl -sf -o /dev/null -X DELETE "$limit/unix%3A"
        expect_through / 200
    else
        fail 'nginx starts with the example' "$(cat "$nginx_folder"/*.log)"
    fi
    kill "$nginx_pid" 2>/dev/null
    wait "$nginx_pid" 2>/dev/null
}
