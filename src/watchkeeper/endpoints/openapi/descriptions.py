"""What is said of the fields that objects and lists of every kind have. Built-in kinds say no more than that."""

from __future__ import annotations

from collections.abc import Mapping

OBJECT_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"

API_VERSION = "APIVersion defines the group and version whose schema this object follows."
KIND = "Kind is the name of the type of this object."
METADATA = "Standard object's metadata: what all objects have, such as a name, labels and annotations."
LIST_METADATA = "Standard list metadata: what all lists have, such as the version of what was listed."

_RESOURCE_VERSION = "The version to watch from, and to name in updates that must not be late."
_SELF_LINK = "Nothing is written here any more."
FIELDS: Mapping[str, Mapping[str, str]] = {
    OBJECT_META_NAME: {
        "annotations": "Annotations are texts that tools keep with an object; nothing selects by them.",
        "creationTimestamp": "CreationTimestamp is a timestamp of the server's: when the object was created.",
        "deletionGracePeriodSeconds": "How long the object may take to end, once it is being deleted.",
        "deletionTimestamp": "When the object is to be gone. Set by deletions that have to wait.",
        "finalizers": "Who has something to do before the object goes. The last to leave this list lets it go.",
        "generateName": "The beginning of a name for the server to complete, where no name is given.",
        "generation": "How often what is desired has changed, counted by the server.",
        "labels": "Labels are what objects are selected by.",
        "managedFields": "Who has set which fields, as the server has it.",
        "name": "Name is unique among the objects of a resource in a namespace, and stays as it is.",
        "namespace": "Namespace is where the name is unique; empty for what is in none.",
        "ownerReferences": "On which objects this one depends. When all of them are gone, it is collected as garbage.",
        "resourceVersion": _RESOURCE_VERSION,
        "selfLink": _SELF_LINK,
        "uid": "UID tells this object from all others that have had, or will have, the same name.",
    },
    LIST_META_NAME: {
        "continue": "A token with which the rest of the list can be asked for.",
        "remainingItemCount": "How many items are left, where that is known.",
        "resourceVersion": _RESOURCE_VERSION,
        "selfLink": _SELF_LINK,
    },
}
"""By definition and field."""
