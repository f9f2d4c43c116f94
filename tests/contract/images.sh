# Lints the Dockerfile, and holds the compose file against its type, its other parts and the flags.

readonly compose_file=$checkout/deploy/compose.yaml

# compose_type_errors FILE: what is wrong with compose files in JSON, a line each. The name of a project is younger than the type.
compose_type_errors() {
    jq -r 'to_entries[]
        | "export const c\(.key): import(\"./compose\").ComposeSpecification = \(.value | with_entries(select(.key | startswith("x-") or . == "name" | not)) | tojson);"' \
        "$1" >"$typed_folder/composed.ts" && typed_compile composed.ts
}

check_compose_types() {
    local composed=$service_folder/composed.json said complained
    typed_json_merged <"$compose_file" | jq '[.,
        (.services.holdfast.healthchek = {}), (.services.proxy.ports = 8080), (.services.migrate.depends_on.database.condition = "soon"),
        (.volume = {})]' >"$composed"
    said=$(compose_type_errors "$composed")
    complained=$(sed -n 's/^composed\.ts(\([0-9]*\),.*/\1/p' <<<"$said" | sort -nu | tr '\n' ' ')
    if [ "$complained" = '2 3 4 5 ' ]; then
        pass
    else
        fail 'compose: it has the type, and each mistake is refused' "$said"
    fi
}

# What no type can tell: images, volumes, files and services that are named are there; the service takes what it is given.
check_compose_references() {
    local composed=$service_folder/composed.json said source container
    said=$(jq -r '.[0] | . as $all
        | (.services | to_entries[] | .key as $name | .value
            | ((.depends_on // {} | keys[]) | select($all.services[.] | not) | "\($name) depends on \(.)"),
              (.depends_on // {} | to_entries[] | select(.value.condition == "service_healthy" and ($all.services[.key].healthcheck | not))
                | "\(.key) says nothing of its health"),
              (.image | select(test(":[^/]+$") | not) | "\(.) names no version"),
              ((.volumes // [])[] | split(":")[0] | select(startswith("./") | not) | . as $v | select($all.volumes | has($v) | not) | "no volume \($v)"))' \
        "$composed" 2>&1)
    while IFS= read -r source; do
        [ -f "$checkout/deploy/$source" ] || said="$said there is no $source"
    done < <(jq -r '.[0].services[].volumes // [] | .[] | split(":")[0] | select(startswith("./"))' "$composed")
    if [ -z "$said" ]; then pass; else fail 'compose: references' "$said"; fi
    while IFS= read -r container; do
        if said=$(flags_are_taken "$container" 2>&1); then pass; else fail 'compose: flags' "$said"; fi
    done < <(jq -c '.[0].services[] | select(.image | startswith("holdfast:")) | {args: .command, variables: .environment}' "$composed")
}

check_dockerfile() {
    local lint=$typed_folder/node_modules/.bin/dockerfile-utils said
    if said=$("$lint" lint "$checkout/deploy/Dockerfile" 2>&1); then pass; else fail 'Dockerfile' "$said"; fi
    sed 's/^WORKDIR/WORKDR/' "$checkout/deploy/Dockerfile" >"$service_folder/Dockerfile"
    if "$lint" lint "$service_folder/Dockerfile" >/dev/null 2>&1; then fail 'Dockerfile: a mistake is refused'; else pass; fi
}

check_images() {
    if ! command -v jq >/dev/null || ! command -v npm >/dev/null || ! typed_install; then
        echo 'skipped: Dockerfile and compose file are not checked; that takes jq and packages of npm'
    else
        check_dockerfile
        check_compose_types
        check_compose_references
    fi
}
