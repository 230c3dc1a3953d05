"""Roles and bindings in few words."""

GROUP = "rbac.authorization.k8s.io"


def role(name, *rules, namespace=""):
    kind = "Role" if namespace else "ClusterRole"
    return {"kind": kind, "metadata": meta(name, namespace), "rules": list(rules)}


def rule(verbs, resources, group=""):
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}


def binding(name, to, *subjects, namespace="", cluster_role=False):
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    ref = {"apiGroup": GROUP, "kind": "ClusterRole" if cluster_role or not namespace else "Role", "name": to}
    return {"kind": kind, "metadata": meta(name, namespace), "roleRef": ref, "subjects": list(subjects)}


def subject(kind, name, **more):
    return {"kind": kind, "name": name, **more}


def meta(name, namespace):
    return {"name": name, **({"namespace": namespace} if namespace else {})}
