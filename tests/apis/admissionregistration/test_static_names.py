"""Names that are kept for configurations in files."""

import pytest

from watchkeeper.apis.admissionregistration.behaviors import checked_behaviors
from watchkeeper.apis.admissionregistration.expressions import Unchecked

KINDS = (
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
)
BEHAVIORS = {behavior.kind.kind: behavior for behavior in checked_behaviors(Unchecked())}


@pytest.mark.parametrize("kind", KINDS)
def test_every_write_of_a_configuration_with_a_name_for_files_warns(kind: str) -> None:
    behavior = BEHAVIORS[kind]
    kept, free = {"metadata": {"name": "a.static.k8s.io"}}, {"metadata": {"name": "static.k8s.io"}}
    expected = [
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations '
        "and cannot be managed via the API"
    ]
    assert behavior.warnings_on_create(kept) == expected
    assert behavior.warnings_on_update(kept, kept) == expected
    assert behavior.warnings_on_create(free) == behavior.warnings_on_update(free, free) == []
