# Installs what is missing and builds; sourced by deploy/run and tests/run, so that both do it alike.
# shellcheck shell=bash

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Without a terminal nobody can type a password.
sudo_options=()
[[ -t 0 ]] || sudo_options=(-n)

# shellcheck disable=SC2034 # for the scripts that source this
readonly build_packages='gcc libc6-dev make cmake pkg-config libmicrohttpd-dev libgnutls28-dev libjansson-dev libpq-dev
    libsodium-dev libcurl4-openssl-dev libyaml-dev uthash-dev curl'
# shellcheck disable=SC2034
readonly test_packages='check openssl iso-codes libfaketime clang-format shellcheck jq nftables libevent-2.1-7 libc-ares2'

say() {
    printf '==> %s\n' "$*"
}

give_up() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo "${sudo_options[@]}" -- "$@"
    fi
}

is_installed() {
    [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]
}

# A server of any supported version will do, from wherever it was installed.
has_postgres() {
    local program
    for program in /usr/lib/postgresql/*/bin/postgres "$(pg_config --bindir 2>/dev/null)/postgres"; do
        [[ ! -x $program ]] || return 0
    done
    command -v postgres >/dev/null
}

# Debian would create and start a server of its own for everybody; the service brings one for itself.
prevent_main_cluster() {
    local folder=/etc/postgresql-common/createcluster.d
    ! is_installed postgresql-common || return 0
    as_root mkdir -p "$folder"
    printf '# Holdfast runs a server of its own.\ncreate_main_cluster = false\n' |
        as_root tee "$folder/holdfast.conf" >/dev/null
}

missing_packages() {
    local package
    for package in "$@"; do
        is_installed "$package" || printf '%s\n' "$package"
    done
    has_postgres || echo postgresql
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"
}

# Installs those of the named packages that are missing, and a PostgreSQL server when there is none.
install_packages() {
    local missing log
    command -v dpkg-query >/dev/null || {
        say "not a Debian system: taking for granted that these are installed: $* postgresql"
        return
    }
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} > 0)) || return 0
    ((EUID == 0)) || command -v sudo >/dev/null || give_up "root or sudo is needed to install ${missing[*]}"
    say "installing ${missing[*]}"
    prevent_main_cluster
    log=$(mktemp) || give_up 'cannot make a temporary file'
    # Lists that cannot be refreshed may still be good enough.
    if ! {
        apt_get update || true
        apt_get install -y --no-install-recommends "${missing[@]}"
    } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        give_up "cannot install ${missing[*]}; all that was said is in $log"
    fi
    rm -f "$log"
}

# Prints where a program is: installed, else that of the Debian package, unpacked into a folder of the checkout so that no
# server is started for everybody.
# program_of PACKAGE PATH FOLDER
program_of() {
    local folder=$checkout/$3
    if [[ -x $2 ]]; then
        echo "$2"
        return
    fi
    if [[ ! -x $folder$2 ]]; then
        mkdir -p "$folder/packages" && chmod 777 "$folder/packages" || return
        (
            cd "$folder/packages" || exit
            apt-get download "$1" || { as_root apt-get update && apt-get download "$1"; }
        ) >"$folder/log" 2>&1 && dpkg -x "$folder/packages/$1"_*.deb "$folder" >>"$folder/log" 2>&1
    fi
    [[ -x $folder$2 ]] && echo "$folder$2"
}

# A build folder that came with a copied checkout still names the place it was made in.
forget_other_checkout() {
    local made_for
    [[ -f $1/CMakeCache.txt ]] || return 0
    made_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$1/CMakeCache.txt")
    [[ -z $made_for || $made_for -ef $checkout ]] || rm -rf -- "${1:?}/CMakeCache.txt" "$1/CMakeFiles"
}

# build FOLDER TARGETS OPTION…: configures and builds into a folder of the checkout, all or (`--target NAME…`) a part; shows
# the compiler's words when it fails.
build() {
    local folder=$checkout/$1 targets
    read -ra targets <<<"$2"
    shift 2
    mkdir -p "$folder" && forget_other_checkout "$folder"
    say "building into $folder"
    if ! { cmake -S "$checkout" -B "$folder" "$@" && cmake --build "$folder" --parallel "$(nproc)" "${targets[@]}"; } \
        >"$folder/build.log" 2>&1 </dev/null; then
        tail -n 40 "$folder/build.log" >&2
        give_up "the build failed; all of it is in $folder/build.log"
    fi
}
