# Checks that the build tool that bundles the OpenAPI document refuses what would make a wrong document.

# Bundles a document with the given line of paths and schemas; prints what the tool says.
bundle_with() {
    local folder=$service_folder/bundle
    mkdir -p "$folder/schemas"
    printf 'openapi: 3.1.0\ninfo: {title: t}\npaths: {/a: {get: {schema: {$ref: "%s"}}}}\n' "$1" >"$folder/openapi.yaml"
    printf '%s\n' "$2" >"$folder/schemas/a.yaml"
    "$HOLDFAST_BUILD/openapi-bundle" "$folder" 1 "$folder/out.yaml" "$folder/out.json" 2>&1
}

# bundle_refuses NAME REFERENCE SCHEMAS MESSAGE
bundle_refuses() {
    local said
    if said=$(bundle_with "$2" "$3") || [[ $said != *"$4"* ]]; then
        fail "the bundler refuses $1" "$said"
    else
        pass
    fi
}

check_bundle() {
    if bundle_with 'schemas/a.yaml#/A' 'A: {items: {$ref: "#/A"}, example: "1"}' >/dev/null &&
        grep -q '{"A":{"items":{"$ref":"#/components/schemas/A"},"example":"1"}}' "$service_folder/bundle/out.json"; then
        pass
    else
        fail 'the bundler keeps a schema that refers to itself, and text that looks like a number'
    fi
    bundle_refuses 'a name that is not there' 'schemas/a.yaml#/B' 'A: {}' 'schemas/a.yaml has no B'
    bundle_refuses 'a file that is not there' 'schemas/b.yaml#/B' 'A: {}' 'No such file'
    bundle_refuses 'a name that nobody refers to' 'schemas/a.yaml#/A' $'A: {}\nB: {}' 'nothing refers to B'
    bundle_refuses 'a member that occurs twice' 'schemas/a.yaml#/A' $'A: {}\nA: {}' 'a.yaml:2: member A occurs twice'
    bundle_refuses 'a reference to no name' 'schemas/a.yaml' 'A: {}' 'does not end in #/NAME'
    bundle_refuses 'a file that is no YAML' 'schemas/a.yaml#/A' 'A: [' 'a.yaml:'
}

# The operations that lack a name, a summary, a description, or an example among what they take and give, however deep it is
# referred to.
undescribed() {
    jq -r '
        . as $document
        | def at: ltrimstr("#/") | split("/") | map(gsub("~1"; "/") | gsub("~0"; "~"));
          def shown($seen):
              if type == "object" then
                  has("example") or has("examples")
                  or (if has("$ref") then
                          .["$ref"] as $name
                          | ($seen | index($name) | not)
                            and (($name | at) as $path | $document | getpath($path) | shown($seen + [$name]))
                      else any(.[]; shown($seen)) end)
              elif type == "array" then any(.[]; shown($seen))
              else false end;
          .paths | to_entries[] | .key as $path | .value | to_entries[] | select(.key != "parameters")
        | select((.value | [.operationId, .summary, .description] | any(. == null or . == "")) or
              (.value | {parameters, requestBody, responses} | shown([]) | not))
        | "\(.key) \($path)"' "$1"
}

check_described() {
    local said bare
    if said=$(undescribed "$HOLDFAST_BUILD/embedded/openapi.json" 2>&1) && [ -z "$said" ]; then
        pass
    else
        fail 'every operation is described, with examples' "$said"
    fi
    bare='{"paths":{"/a":{"get":{"operationId":"getA","summary":"a","description":"b","responses":{}}}}}'
    if [ "$(undescribed <(printf '%s' "$bare"))" = 'get /a' ]; then
        pass
    else
        fail 'an operation without an example is found'
    fi
}
