# Lints the bundled OpenAPI document, where npm and its registry can be reached.

readonly lint_folder=$HOLDFAST_BUILD/openapi-lint
readonly lint_packages='@redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3'

# Installs the linters once; the stamp names what was installed.
lint_install() {
    [ "$(cat "$lint_folder/installed" 2>/dev/null)" != "$lint_packages" ] || return 0
    mkdir -p "$lint_folder"
    # shellcheck disable=SC2086 # two packages
    npm install --prefix "$lint_folder" --no-audit --no-fund --silent $lint_packages >"$lint_folder/log" 2>&1 &&
        printf '%s\n' "$lint_packages" >"$lint_folder/installed"
}

# lint_with NAME COMMAND…
lint_with() {
    local name=$1 output
    shift
    if output=$("$lint_folder/node_modules/.bin/$name" "$@" 2>&1); then
        pass
    else
        fail "openapi: $name" "$output"
    fi
}

check_lint() {
    if ! command -v npm >/dev/null; then
        echo 'skipped: the OpenAPI document is not linted, npm is not installed'
    elif ! lint_install; then
        echo 'skipped: the OpenAPI document is not linted, npm could not install the linters'
    else
        export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
        lint_with redocly lint --config "$here/redocly.yaml" "$document"
        lint_with spectral lint --ruleset "$here/spectral.yaml" --fail-severity=warn "$document"
    fi
}
