#!/usr/bin/env python3
"""Checks Kubernetes objects against the Pod Security Standard "restricted", as of Kubernetes 1.36
(https://kubernetes.io/docs/concepts/security/pod-security-standards/), which a server of 1.20 does
not enforce.

    pod_security.py [--list] <OBJECTS     JSON (several objects may follow each other, lists are
                                          opened) or YAML (several documents; needs python3-yaml)

Pods, and all kinds with a pod template (Deployment, DaemonSet, StatefulSet, ReplicaSet, Job, CronJob),
are checked; other objects have no pods and pass. One line per violation: KIND NAME: FIELD: the
error. --list names every checked object. Exit code 1: there are violations; 2: the
input could not be read, or has no pod at all (a check of nothing proves nothing)."""
import json
import sys

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
           "persistentVolumeClaim", "projected", "secret"}
SYSCTLS = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
           "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
           "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
           "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
SELINUX_TYPES = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
TEMPLATES = {"Pod": [], "PodTemplate": ["template"], "Deployment": ["spec", "template"],
             "DaemonSet": ["spec", "template"], "StatefulSet": ["spec", "template"],
             "ReplicaSet": ["spec", "template"], "ReplicationController": ["spec", "template"],
             "Job": ["spec", "template"], "CronJob": ["spec", "jobTemplate", "spec", "template"]}


def get(tree, *path):
    """The value at the path; None if it is absent (null and absent are the same)."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def check_context(context, field):
    """The violations in a securityContext of a pod or a container."""
    windows = get(context, "windowsOptions", "hostProcess")
    if windows not in (None, False):
        yield f"{field}.windowsOptions.hostProcess", "must be false"
    options = get(context, "seLinuxOptions") or {}
    if options.get("type") is not None and options["type"] not in SELINUX_TYPES:
        yield f"{field}.seLinuxOptions.type", f"{options['type']} is not one of the container types"
    for key in ("user", "role"):
        if options.get(key):
            yield f"{field}.seLinuxOptions.{key}", "must not be set"
    if get(context, "appArmorProfile", "type") not in (None, "RuntimeDefault", "Localhost"):
        yield f"{field}.appArmorProfile.type", "must be RuntimeDefault or Localhost"
    if get(context, "seccompProfile", "type") not in (None, "RuntimeDefault", "Localhost"):
        yield f"{field}.seccompProfile.type", "must be RuntimeDefault or Localhost"
    if get(context, "runAsUser") == 0:
        yield f"{field}.runAsUser", "must not be 0 (root)"
    if get(context, "runAsNonRoot") not in (None, True):
        yield f"{field}.runAsNonRoot", "must be true"


def check_hosts(container, field):
    """Probes and hooks must not reach beyond their pod."""
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        for how in ("httpGet", "tcpSocket"):
            if get(container, kind, how, "host"):
                yield f"{field}.{kind}.{how}.host", "must not be set"
    for kind in ("postStart", "preStop"):
        for how in ("httpGet", "tcpSocket"):
            if get(container, "lifecycle", kind, how, "host"):
                yield f"{field}.lifecycle.{kind}.{how}.host", "must not be set"


def check_container(pod, container, field):
    context = get(container, "securityContext") or {}
    pod_context = get(pod, "securityContext") or {}
    where = f"{field}.securityContext"
    yield from check_context(context, where)
    yield from check_hosts(container, field)
    if context.get("privileged") not in (None, False):
        yield f"{where}.privileged", "must be false"
    if context.get("allowPrivilegeEscalation") is not False:
        yield f"{where}.allowPrivilegeEscalation", "must be false"
    capabilities = context.get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or []):
        yield f"{where}.capabilities.drop", "must hold ALL"
    for name in capabilities.get("add") or []:
        if name != "NET_BIND_SERVICE":
            yield f"{where}.capabilities.add", f"{name} must not be added"
    if context.get("procMount") not in (None, "Default"):
        yield f"{where}.procMount", "must be Default"
    if context.get("runAsNonRoot") is None and pod_context.get("runAsNonRoot") is not True:
        yield f"{where}.runAsNonRoot", "must be true, here or for the pod"
    if get(context, "seccompProfile", "type") is None and \
            get(pod_context, "seccompProfile", "type") is None:
        yield f"{where}.seccompProfile.type", "must be RuntimeDefault or Localhost, here or for the pod"
    for i, port in enumerate(container.get("ports") or []):
        if port.get("hostPort"):
            yield f"{field}.ports[{i}].hostPort", "must not be set"


def check_pod(metadata, pod):
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(key) not in (None, False):
            yield f"spec.{key}", "must be false"
    yield from check_context(pod.get("securityContext") or {}, "spec.securityContext")
    for i, sysctl in enumerate(get(pod, "securityContext", "sysctls") or []):
        if sysctl.get("name") not in SYSCTLS:
            yield f"spec.securityContext.sysctls[{i}]", f"{sysctl.get('name')} is not a safe one"
    for key, value in (get(metadata, "annotations") or {}).items():
        if key.startswith("container.apparmor.security.beta.kubernetes.io/") and \
                value != "runtime/default" and not value.startswith("localhost/"):
            yield f"metadata.annotations[{key}]", "must be runtime/default or localhost/..."
    for volume in pod.get("volumes") or []:
        # Without a source it is an emptyDir.
        for kind in sorted(set(k for k, v in volume.items() if v is not None) - {"name"} - VOLUMES):
            yield f"spec.volumes[{volume.get('name')}].{kind}", "this kind of volume is forbidden"
    count = 0
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in pod.get(group) or []:
            count += 1
            yield from check_container(pod, container, f"spec.{group}[{container.get('name')}]")
    if not count:
        yield "spec.containers", "there is none"


def read_objects(text):
    try:
        decoder, at, objects = json.JSONDecoder(), 0, []
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            one, at = decoder.raw_decode(text, at)
            objects.append(one)
        return objects
    except json.JSONDecodeError:
        import yaml  # only needed for YAML
        return list(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def flatten(tree):
    """The objects in lists and in objects of kind List."""
    if isinstance(tree, list):
        for one in tree:
            yield from flatten(one)
    elif isinstance(tree, dict) and isinstance(tree.get("items"), list):
        yield from flatten(tree["items"])
    elif isinstance(tree, dict):
        yield tree


def main():
    try:
        objects = read_objects(sys.stdin.read())
    except ImportError:
        sys.exit("pod_security.py: not JSON; for YAML install python3-yaml")
    except ValueError as problem:  # yaml's errors are not ValueErrors, and explain themselves
        print(f"pod_security.py: {problem}", file=sys.stderr)
        sys.exit(2)
    pods = violations = 0
    for one in flatten(objects):
        kind, name = one.get("kind"), get(one, "metadata", "name")
        if kind not in TEMPLATES:
            continue
        pods += 1
        if "--list" in sys.argv[1:]:
            print(f"# {kind} {name}")
        template = get(one, *TEMPLATES[kind]) or {}
        for field, problem in check_pod(template.get("metadata"), template.get("spec") or {}):
            print(f"{kind} {name}: {field}: {problem}")
            violations += 1
    if not pods:
        print("pod_security.py: the input holds no pod", file=sys.stderr)
        sys.exit(2)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
