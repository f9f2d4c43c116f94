# Reads the objects of an overlay as an array and prints what no schema can tell: names, labels and ports that do not meet.
# $elsewhere lists the secrets that are made elsewhere, each as `name` or `name/key`; $graceful the seconds that a replica
# needs beyond its drain.

def workloads: .[] | select(.kind | IN("Deployment", "StatefulSet", "Job"));
def id: "\(.kind) \(.metadata.name)";
def has_labels($wanted): . as $labels | ($wanted | length) > 0 and ($wanted | to_entries | all($labels[.key] == .value));
def template_labels: .spec.template.metadata.labels // {};
def containers: .spec.template.spec | (.containers + (.initContainers // []))[];
def ports: [containers | (.ports // [])[] | .name, .containerPort];
def cluster_labels: {"cnpg.io/cluster": .metadata.name};

# Labels of all pods there are, those that the operator of the database makes among them.
def pods: [workloads | template_labels], [.[] | select(.kind == "Cluster") | cluster_labels] | .[];

def has_object($kind; $name): any(.[]; .kind == $kind and .metadata.name == $name);
def has_key($kind; $name; $key):
    any(.[]; .kind == $kind and .metadata.name == $name and ((.data // {}) + (.stringData // {}) | has($key)))
    or ($kind == "Secret" and (["\($name)/\($key)"] | inside($elsewhere)))
    or ($kind == "Secret" and $key == null and ([$name] | inside($elsewhere)));

def selectors:
    . as $all
    | (.[] | select(.kind | IN("Deployment", "StatefulSet"))
        | select(.spec.selector.matchLabels as $s | template_labels | has_labels($s) | not) | "\(id): its selector is not its pods'"),
      (.[] | select(.kind == "Service")
        | select(.spec.selector as $s | [$all | pods | has_labels($s)] | any | not) | "\(id): selects no pods"),
      (.[] | select(.kind == "PodDisruptionBudget")
        | select(.spec.selector.matchLabels as $s | [$all | pods | has_labels($s)] | any | not) | "\(id): selects no pods"),
      (.[] | select(.kind == "NetworkPolicy") | id as $id
        | [.spec.podSelector, (.spec | (.ingress // [])[].from[]?, (.egress // [])[].to[]? | select(.namespaceSelector == null) | .podSelector)][]
        | select(.matchLabels != null) | .matchLabels as $s
        | select([$all | pods | has_labels($s)] | any | not) | "\($id): selects no pods with \($s | tojson)"),
      (.[] | select(.kind == "ServiceMonitor")
        | select(.spec as $spec | [$all[] | select(.kind == "Service" and (.metadata.labels // {} | has_labels($spec.selector.matchLabels)))
            | .spec.ports[].name] as $names | $spec.endpoints | all([.port] | inside($names)) | not)
        | "\(id): no service has its labels and port"),
      (.[] | select(.kind == "HorizontalPodAutoscaler") | .spec.scaleTargetRef as $ref
        | select($all | has_object($ref.kind; $ref.name) | not) | "\(id): scales nothing"),
      (.[] | select(.kind == "Deployment") | . as $one | (.spec.template.spec.topologySpreadConstraints // [])[]
        | select(.labelSelector.matchLabels as $s | $one | template_labels | has_labels($s) | not) | "\($one | id): spreads other pods"),
      (.[] | select(.kind == "StatefulSet")
        | select(.spec.serviceName as $name | $all | has_object("Service"; $name) | not) | "\(id): has no service");

def port_names:
    . as $all
    | (.[] | select(.kind == "Service") | . as $one | .spec.ports[].targetPort as $port
        | select([$all | workloads | select(template_labels | has_labels($one.spec.selector)) | ports | index([$port])] | all(. == null))
        | "\($one | id): no container has the port \($port)"),
      (workloads | . as $one | ports as $ports | containers | (.livenessProbe, .readinessProbe, .startupProbe) | select(.httpGet)
        | .httpGet.port as $port | select($ports | index([$port]) == null) | "\($one | id): a probe asks a port that is none"),
      (.[] | select(.kind == "NetworkPolicy") | . as $one | .spec | (.ingress // [])[].ports[]?, (.egress // [])[].ports[]?
        | .port as $port | select($port | type == "string")
        | select([$all | workloads | ports | index([$port])] | all(. == null)) | "\($one | id): no container has the port \($port)");

def references:
    . as $all
    | workloads | . as $one | id as $id
    | ((.spec.template.spec.serviceAccountName // empty) as $name
        | select($all | has_object("ServiceAccount"; $name) | not) | "\($id): no service account \($name)"),
      (containers | (.env // [])[].valueFrom // {} | .secretKeyRef, .configMapKeyRef | select(.)
        | . as $ref | select([$all | has_key("Secret", "ConfigMap"; $ref.name; $ref.key)] | any | not) | "\($id): nothing has \(.name)/\(.key)"),
      (containers | (.envFrom // [])[] | .configMapRef, .secretRef | select(.)
        | .name as $name | select([$all | has_object("ConfigMap", "Secret"; $name)] | any | not) | "\($id): there is no \($name)"),
      ((.spec.template.spec.volumes // [])[] | (.secret | select(.) | {kind: "Secret", name: .secretName, keys: [(.items // [])[].key]}),
            (.configMap | select(.) | {kind: "ConfigMap", name, keys: [(.items // [])[].key]})
        | . as $ref
        | if (.keys | length) > 0 then .keys[] as $key | select($all | has_key($ref.kind; $ref.name; $key) | not) | "\($id): nothing has \($ref.name)/\($key)"
          else select($all | has_object($ref.kind; $ref.name) or has_key($ref.kind; $ref.name; null) | not) | "\($id): there is no \($ref.name)" end),
      ([(.spec.template.spec.volumes // [])[].name, (.spec.volumeClaimTemplates // [])[].metadata.name] as $volumes
        | containers | (.volumeMounts // [])[] | select([.name] | inside($volumes) | not) | "\($id): there is no volume \(.name)");

def operator_references:
    . as $all
    | (.[] | select(.kind == "Cluster") | . as $one | (.spec.managed.roles // [])[] | .passwordSecret.name as $name
        | select($all | has_key("Secret"; $name; "password") and has_key("Secret"; $name; "username") | not)
        | "\($one | id): nothing has \($name)/username and password"),
      (.[] | select(.kind == "ServiceMonitor") | . as $one | .spec.endpoints[].authorization.credentials // empty
        | . as $ref | select($all | has_key("Secret"; $ref.name; $ref.key) | not) | "\($one | id): nothing has \(.name)/\(.key)");

# What the Pod Security Standard `restricted` asks for, and more.
def hardening:
    workloads | id as $id
    | (.spec.template.spec
        | select(.securityContext | .runAsNonRoot and (.runAsUser > 0) and .seccompProfile.type == "RuntimeDefault" | not) | "\($id): may be root or call anything"),
      (.spec.template.spec | select(.automountServiceAccountToken != false) | "\($id): is given a token of the cluster"),
      (.spec.template.spec | select(.enableServiceLinks != false) | "\($id): is given variables of services"),
      (containers
        | select(.securityContext | .allowPrivilegeEscalation == false and .readOnlyRootFilesystem and .capabilities.drop == ["ALL"] | not)
        | "\($id): \(.name) has privileges"),
      (containers | select(.image | test(":[^/]+$") | not) | "\($id): \(.image) names no version"),
      (containers | select(.resources | .requests.cpu and .requests.memory and .limits.memory | not) | "\($id): \(.name) has no bounds");

def drains:
    . as $all
    | .[] | select(.kind == "Deployment") | . as $one | containers | (.envFrom // [])[].configMapRef.name as $name
    | $all[] | select(.kind == "ConfigMap" and .metadata.name == $name) | .data.HOLDFAST_DRAIN
    | rtrimstr("s") | tonumber
    | select(. < 5 or . + $graceful > $one.spec.template.spec.terminationGracePeriodSeconds)
    | "\($one | id): is not given the time to drain for \(.) s";

selectors, port_names, references, operator_references, hardening, drains
