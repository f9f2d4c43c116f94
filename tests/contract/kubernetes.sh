# Builds the overlays for Kubernetes and holds every object against its type, against the other objects, and against the flags.

# Secrets that the operator of the database makes for the cluster holdfast-db.
readonly operator_secrets='holdfast-db-app/username holdfast-db-app/password holdfast-db-ca holdfast-db-ca/ca.crt'
# Seconds that a replica needs beyond its drain: for requests under way, and to take down what it has open.
readonly graceful=15

# Secrets that deploy/README.md has made by hand, as `name` and `name/key`.
secrets_by_hand() {
    sed -n '/create secret generic/,/[^\\]$/p' "$checkout/deploy/README.md" | sed ':a; /\\$/{N; s/\\\n//; ba}' |
        awk '{ for (i = 1; i <= NF; i++) if ($i == "generic") name = $(i + 1)
               print name
               for (i = 1; i <= NF; i++) if (match($i, /^--from-literal=[^=]*/)) print name "/" substr($i, 16, RLENGTH - 15) }'
}

# overlay_objects OVERLAY FILE: builds it into an array of JSON.
overlay_objects() {
    kubectl kustomize "$checkout/deploy/kubernetes/$1" 2>"$2.log" | typed_json >"$2" && [ ! -s "$2.log" ] &&
        jq -e 'length > 8' "$2" >/dev/null
}

# Types of all there is, and of what must be refused, are checked at once: that is what takes time.
compile_objects() {
    local name
    for name in "$@"; do
        typed_kubernetes <"$service_folder/$name.json" >"$typed_folder/$name.ts"
    done
    typed_compile "${@/%/.ts}" >"$service_folder/types"
}

# type_errors NAME: what compile_objects found in it.
type_errors() {
    grep -A 3 "^$1\.ts" "$service_folder/types"
}

# reference_errors OBJECTS
reference_errors() {
    jq -r --argjson graceful "$graceful" --argjson elsewhere "$(
        { printf '%s\n' "$operator_secrets" | tr ' ' '\n'; secrets_by_hand; } | jq -R . | jq -s .
    )" -f "$here/kubernetes/references.jq" "$1"
}

# Prints, of each container of ours, its arguments and its variables that the ConfigMaps give: a line of JSON each.
our_containers() {
    jq -c '. as $all
        | .[] | select(.spec.template) | .spec.template.spec.containers[] | select(.image | test("(^|/)holdfast:"))
        | {args, variables: ([(.envFrom // [])[].configMapRef.name as $name | $all[]
            | select(.kind == "ConfigMap" and .metadata.name == $name) | .data] | add // {})}' "$1"
}

# Asks the binary for its help behind the container's arguments: it reads them, and the variables, first.
flags_are_taken() {
    local -a arguments variables
    local variable help
    mapfile -t arguments < <(jq -r '.args[]' <<<"$1")
    mapfile -t variables < <(jq -r '.variables | to_entries[] | "\(.key)=\(.value)"' <<<"$1")
    help=$("$HOLDFAST_BUILD/holdfast" "${arguments[0]}" --help)
    for variable in "${variables[@]%%=*}"; do
        if ! grep -qE "\[${variable}(,|\])" <<<"$help"; then
            echo "${arguments[0]} has no $variable"
            return 1
        fi
    done
    env "${variables[@]}" "$HOLDFAST_BUILD/holdfast" "${arguments[@]}" --help
}

check_overlay() {
    local objects=$service_folder/$1.json said container count=0
    if ! said=$(type_errors "$1"); then pass; else fail "kubernetes: types of $1" "$said"; fi
    if said=$(reference_errors "$objects") && [ -z "$said" ]; then pass; else fail "kubernetes: references of $1" "$said"; fi
    while IFS= read -r container; do
        count=$((count + 1))
        if said=$(flags_are_taken "$container" 2>&1); then pass; else fail "kubernetes: flags of $1" "$said"; fi
    done < <(our_containers "$objects")
    if [ "$count" -eq 2 ]; then pass; else fail "kubernetes: $1 serves and migrates"; fi
}

# One mistake in each of these copies of objects.
plant_mistakes() {
    jq 'first(.[] | select(.kind == "Deployment")) as $deployment | first(.[] | select(.kind == "Cluster")) as $cluster
        | first(.[] | select(.kind == "ServiceMonitor")) as $monitor | first(.[] | select(.kind == "NetworkPolicy")) as $policy
        | [($deployment | .spec.template.spec.containers[0].redinessProbe = {}),
           ($deployment | .spec.template.spec.terminationGracePeriodSeconds = "30"),
           ($deployment | del(.spec.selector)),
           ($policy | .spec.ingress[0].from[0].podSelectors = {}),
           ($monitor | .spec.endpoints[0].intervall = "15s"),
           ($cluster | .spec.postgresql.synchronous.method = "some"),
           ($cluster | .spec.managed.roles[0].passwordsecret = {}),
           ($cluster | .spec.instances = "3"),
           ($cluster | del(.spec.instances))]' "$service_folder/production.json" >"$service_folder/mistakes.json"
}

# The compiler must have complained of every mistake.
check_refused_types() {
    local complained
    complained=$(sed -n 's/^mistakes\.ts(\([0-9]*\),.*/\1/p' "$service_folder/types" | sort -nu | wc -l)
    if [ "$complained" -eq "$(jq length "$service_folder/mistakes.json")" ]; then
        pass
    else
        fail 'kubernetes: each mistake of types is refused' "$(cat "$service_folder/types")"
    fi
}

# refuses NAME FILTER: what the filter does to the objects of production must not pass.
refuses() {
    if jq "$2" "$service_folder/production.json" >"$service_folder/planted.json" &&
        [ -n "$(reference_errors "$service_folder/planted.json")" ]; then
        pass
    else
        fail "kubernetes: $1 is refused"
    fi
}

check_refused_references() {
    local deployment='(.[] | select(.kind == "Deployment"))' service='(.[] | select(.kind == "Service"))'
    local pod="$deployment.spec.template.spec"
    refuses 'a selector of other pods' "$deployment.spec.selector.matchLabels.x = \"y\""
    refuses 'a service without pods' "$service.spec.selector.x = \"y\""
    refuses 'a port that no container has' "$service.spec.ports[0].targetPort = \"https\""
    refuses 'a probe of a port that is none' "$pod.containers[0].livenessProbe.httpGet.port = \"web\""
    refuses 'a secret that nobody makes' "$pod.volumes[0].secret.secretName = \"none\""
    refuses 'a key that no secret has' "$pod.containers[0].env[0].valueFrom.secretKeyRef.key = \"none\""
    refuses 'a mount of no volume' "$pod.containers[0].volumeMounts[0].name = \"none\""
    refuses 'a root file system that can be written' "$pod.containers[0].securityContext.readOnlyRootFilesystem = false"
    refuses 'too little time to drain' "$pod.terminationGracePeriodSeconds = 20"
    refuses 'a service account that is not there' 'map(select(.kind != "ServiceAccount"))'
    refuses 'a monitor of no service' "map(select(.kind != \"Service\"))"
    if flags_are_taken '{"args":["serve","--no-such"],"variables":{}}' >/dev/null 2>&1 ||
        flags_are_taken '{"args":["serve"],"variables":{"HOLDFAST_NO_SUCH":"1"}}' >/dev/null 2>&1 ||
        flags_are_taken '{"args":["serve"],"variables":{"HOLDFAST_DRAIN":"soon"}}' >/dev/null 2>&1; then
        fail 'kubernetes: a flag, a variable and a value that there are not are refused'
    else
        pass
    fi
}

check_overlays() {
    local overlay
    for overlay in dev production; do
        if overlay_objects "$overlay" "$service_folder/$overlay.json"; then
            pass
        else
            fail "kubernetes: $overlay is built without a warning" "$(cat "$service_folder/$overlay.json.log")"
            return
        fi
    done
    plant_mistakes
    compile_objects dev production mistakes
    check_overlay dev
    check_overlay production
    check_refused_types
    check_refused_references
}

check_kubernetes() {
    if ! command -v kubectl >/dev/null || ! command -v jq >/dev/null || ! command -v npm >/dev/null; then
        echo 'skipped: the objects for Kubernetes are not checked; that takes kubectl, jq and npm'
    elif ! typed_install; then
        echo 'skipped: the objects for Kubernetes are not checked, npm could not install their types'
    else
        check_overlays
    fi
}
