"""The certificates of authorities that a conversion webhook is trusted by."""

from __future__ import annotations

import base64

from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.runtime.x509 import authorities_fault


def ca_bundle_errors(bundle: str, path: str) -> list[FieldError]:
    """What is wrong with certificates of authorities, given in PEM and base64."""
    try:
        problem = authorities_fault(base64.b64decode(bundle, validate=True))
    except ValueError:
        problem = "unable to parse bytes as PEM block"
    return [invalid(path, bundle, f"unable to load root certificates: {problem}")] if problem else []
