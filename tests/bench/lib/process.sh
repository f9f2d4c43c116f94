# Programs that a run starts, and that end with it.

started=()     # process ids, in order of their start
work_folder='' # of this run, removed at its end

say() {
    printf '%s\n' "$*" >&2
}

# start NAME COMMAND...: in the background, with its output in files of the work folder.
start() {
    local name=$1
    shift
    say "starting $name"
    "$@" >"$work_folder/$name.out" 2>"$work_folder/$name.log" </dev/null &
    started+=("$!")
}

# wait_for NAME SECONDS COMMAND...: until the command succeeds; fails when the program started last ends before.
wait_for() {
    local name=$1 deadline=$((SECONDS + $2)) process=${started[-1]}
    shift 2
    until "$@" >"$work_folder/probe" 2>&1; do
        if ! kill -0 "$process" 2>/dev/null || ((SECONDS > deadline)); then
            say "$name does not start:"
            tail -n 5 "$work_folder/$name.log" >&2
            return 1
        fi
        sleep 0.05
    done
}

# Whether the web server at ADDRESS answers PATH with a 2xx.
answers() {
    curl -fsS -o /dev/null --max-time 2 "http://$1$2"
}

# A port of the loopback that nobody listens on.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# Stops a program; one that does not go within half a minute is ended.
stop_one() {
    local deadline=$((SECONDS + 30))
    kill "$1" 2>/dev/null
    while kill -0 "$1" 2>/dev/null; do
        ((SECONDS < deadline)) || kill -KILL "$1" 2>/dev/null
        sleep 0.05
    done
    wait "$1" 2>/dev/null
}

stop_all() {
    local i
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do
        stop_one "${started[i]}"
    done
    started=()
    [[ -z $work_folder ]] || rm -rf "$work_folder"
}

# The folder must be on a real disk, or a durable write would cost nothing.
make_work_folder() {
    local parent=${HOLDFAST_BENCH_DATA:-/var/tmp}
    mkdir -p "$parent" || return
    case $(stat -f -c %T "$parent") in
    tmpfs | ramfs)
        say "$parent is in memory: name a folder on a disk in HOLDFAST_BENCH_DATA"
        return 1
        ;;
    esac
    work_folder=$(mktemp -d "$parent/holdfast-bench.XXXXXX") && chmod 711 "$work_folder"
}
