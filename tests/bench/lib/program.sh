# What the programs of the benchmark have in common: their arguments, and what must be there before anything is measured.

root=$(cd "$here/../.." && pwd)
build=${HOLDFAST_BENCH_BUILD:-$root/build/bench}

refuse() {
    printf 'tests/bench/%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}

# whole_number OPTION TEXT
whole_number() {
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || refuse "$1 takes a whole number from 1"
    echo "$2"
}

# file_to_write OPTION FILE: known before hours are spent on what it is to hold.
file_to_write() {
    [[ -n $2 ]] && [[ ! -e $2 && -w $(dirname "$2") || -w $2 ]] || refuse "$1 takes a file that can be written"
    echo "$2"
}

build_programs() {
    local log=$build/build.log
    mkdir -p "$build" || return
    if cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release >"$log" 2>&1 &&
        cmake --build "$build" --parallel "$(nproc)" --target holdfast bench-load bench-ceiling bench-waits >>"$log" 2>&1; then
        return
    fi
    tail -n 20 "$log" >&2
    return 1
}

# Whatever is started from here on ends with the program.
prepare() {
    [[ $build_first == no ]] || build_programs || return
    trap "stop_all; release_large_pages" EXIT
    trap 'exit 130' INT TERM
    make_work_folder || return
    find_postgres_bin
}
