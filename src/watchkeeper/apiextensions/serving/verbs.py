"""What can be done with custom resources."""

from watchkeeper.meta.gvk import GroupVersionKind

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
ENDING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
"""What discovery tells of a resource that is about to go."""
SUBRESOURCE_VERBS = ("get", "patch", "update")
SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
"""What bodies of the scale subresource are."""
