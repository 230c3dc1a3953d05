"""How errors show parts of claims and slices."""

from __future__ import annotations

from watchkeeper.apis.validation.internal_form import InternalForm, Listed, Reference

_TOLERATIONS = Listed(
    key=("Key", ""),
    operator=("Operator", ""),
    value=("Value", ""),
    effect=("Effect", ""),
    tolerationSeconds=("TolerationSeconds", None),
)
_SELECTORS = Listed(cel=("CEL", Reference(expression=("Expression", ""))))
_OPAQUE = Reference(driver=("Driver", ""), parameters=("Parameters", None))
_REQUEST: InternalForm = {
    "deviceClassName": ("DeviceClassName", ""),
    "selectors": ("Selectors", _SELECTORS),
    "allocationMode": ("AllocationMode", ""),
    "count": ("Count", 0),
}
_REST: InternalForm = {
    "tolerations": ("Tolerations", _TOLERATIONS),
    "capacity": ("Capacity", Reference(requests=("Requests", None))),
}
_REQUESTS = Listed(
    name=("Name", ""),
    exactly=("Exactly", Reference({**_REQUEST, "adminAccess": ("AdminAccess", None), **_REST})),
    firstAvailable=("FirstAvailable", Listed({"name": ("Name", ""), **_REQUEST, **_REST})),
)
_CONSTRAINTS = Listed(
    requests=("Requests", None),
    matchAttribute=("MatchAttribute", None),
    distinctAttribute=("DistinctAttribute", None),
)
SPEC: InternalForm = {
    "devices": (
        "Devices",
        {
            "requests": ("Requests", _REQUESTS),
            "constraints": ("Constraints", _CONSTRAINTS),
            "config": ("Config", Listed(requests=("Requests", None), opaque=("Opaque", _OPAQUE))),
        },
    )
}
_RESULTS = Listed(
    request=("Request", ""),
    driver=("Driver", ""),
    pool=("Pool", ""),
    device=("Device", ""),
    adminAccess=("AdminAccess", None),
    tolerations=("Tolerations", _TOLERATIONS),
    bindingConditions=("BindingConditions", None),
    bindingFailureConditions=("BindingFailureConditions", None),
    shareID=("ShareID", None),
    consumedCapacity=("ConsumedCapacity", None),
)
_CONFIG = Listed(source=("Source", ""), requests=("Requests", None), opaque=("Opaque", _OPAQUE))
_NODE_REQUIREMENTS = Listed(key=("Key", ""), operator=("Operator", ""), values=("Values", None))
NODE_TERMS = Listed(
    matchExpressions=("MatchExpressions", _NODE_REQUIREMENTS),
    matchFields=("MatchFields", _NODE_REQUIREMENTS),
)
ALLOCATION: InternalForm = {
    "devices": ("Devices", {"results": ("Results", _RESULTS), "config": ("Config", _CONFIG)}),
    "nodeSelector": ("NodeSelector", Reference(nodeSelectorTerms=("NodeSelectorTerms", NODE_TERMS))),
    "allocationTimestamp": ("AllocationTimestamp", None),
}
ATTRIBUTE: InternalForm = {
    "int": ("IntValue", None),
    "bool": ("BoolValue", None),
    "string": ("StringValue", None),
    "version": ("VersionValue", None),
    "ints": ("IntValues", None),
    "bools": ("BoolValues", None),
    "strings": ("StringValues", None),
    "versions": ("VersionValues", None),
}
