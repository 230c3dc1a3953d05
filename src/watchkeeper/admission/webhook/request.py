"""The AdmissionReview that a webhook is sent."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.admission.expression.request import request_value
from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.matching import Match
from watchkeeper.admission.versioned import Versioned
from watchkeeper.runtime.json_text import with_digits

Object = dict[str, Any]

GROUP = "admission.k8s.io"
KIND = "AdmissionReview"


def review_request(attributes: Attributes, match: Match, versioned: Versioned, uid: str, version: str) -> bytes:
    """A request in a review of a version, as JSON. Texts that are empty are left out, objects that are not there null.

    v1 and v1beta1 have the same fields.
    """
    request = {
        "uid": uid,
        **request_value(attributes, match.resource, match.kind),
        "object": versioned.obj,
        "oldObject": versioned.old,
    }
    return with_digits(orjson.dumps({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request}))
