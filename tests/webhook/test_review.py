"""Answers of webhooks, as far as their form goes."""

from typing import Any

import pytest

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import Schema
from watchkeeper.webhook.client import WebhookError
from watchkeeper.webhook.review import MAX_YAML, read_review

KIND = GroupVersionKind("admission.k8s.io", "v1", "AdmissionReview")


def review(body: bytes, schema: Schema) -> Any:
    return read_review(body, KIND, schema)


@pytest.fixture
def schema() -> Schema:
    from watchkeeper.admission.webhook.answer import _schema

    return _schema("v1")


def test_a_review_may_be_yaml(schema: Schema) -> None:
    body = b"kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nresponse:\n  uid: x\n  allowed: true\n"
    assert review(body, schema)["response"] == {"uid": "x", "allowed": True}


def test_but_not_so_much_of_it_that_everybody_has_to_wait(schema: Schema) -> None:
    head = b"kind: AdmissionReview\nresponse:\n  uid: x\n  allowed: true\n  auditAnnotations:\n"
    body = head + b"".join(b"    key-%06d: value\n" % n for n in range(MAX_YAML // 20))
    with pytest.raises(WebhookError, match=r"is not JSON, and with .* bytes too long to be read as YAML"):
        review(body, schema)


def test_json_may_be_as_long_as_an_answer(schema: Schema) -> None:
    body = b'{"kind":"AdmissionReview","response":{"uid":"x","allowed":true,"patch":"%s"}}' % (b"QUFB" * MAX_YAML)
    assert review(body, schema)["response"]["allowed"] is True
