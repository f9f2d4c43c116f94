# What tiers need from npm: packages, or a word why they are not to be had. Sourced by the tiers' run.
# shellcheck shell=bash

readonly npm_options='--ignore-scripts --prefer-offline --no-audit --no-fund --no-update-notifier --fetch-retries=1
    --fetch-retry-mintimeout=1000'

# npm_skipped WHY: ends a tier that cannot run here, as neither passed nor failed.
npm_skipped() {
    printf 'skipped: %s\n0 passed, 0 failed, 1 skipped\n' "$1"
    exit 0
}

# Ends the tier when there is no npm, or a Node.js older than $1.
npm_wanted() {
    local version
    command -v npm >/dev/null && version=$(node --version 2>/dev/null) || npm_skipped 'npm is not installed'
    version=${version#v}
    ((${version%%.*} >= $1)) || npm_skipped "Node.js is older than $1: $version"
}

# npm_quietly LOG COMMAND…: runs npm in the folder it is called in. 0: done; 1: a failure; 2: what it asked for could not be
# had. What it said is in LOG.
npm_quietly() {
    local log=$1 code
    shift
    # shellcheck disable=SC2086 # several options
    npm "$@" $npm_options >"$log" 2>&1 </dev/null && return 0
    code=$(sed -nE 's/^npm (error|ERR!) code ([A-Z0-9_]+)$/\2/p' "$log" | tail -n 1)
    case $code in
    E40[134] | E429 | E5?? | ENOTFOUND | EAI_AGAIN | ECONN* | ETIMEDOUT | EHOSTUNREACH | ENETUNREACH | ERR_SOCKET_TIMEOUT | ENOTCACHED)
        echo "npm: $code"
        return 2
        ;;
    esac
    return 1
}
