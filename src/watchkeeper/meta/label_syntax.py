"""What label keys and values look like, and what the reference says of those that do not."""

from __future__ import annotations

import re

MAX_NAME_LENGTH = 63
MAX_SUBDOMAIN_LENGTH = 253

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = f"{_DNS_LABEL}(\\.{_DNS_LABEL})*"

_match_name = re.compile(_NAME).fullmatch
_match_value = re.compile(_VALUE).fullmatch
_match_subdomain = re.compile(_SUBDOMAIN).fullmatch

_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_RULE = f"{_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def label_key_faults(key: str) -> list[str]:
    """What is wrong with a label key (also called a qualified name); [] when nothing is."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in dns_subdomain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > MAX_NAME_LENGTH:
        faults.append(f"name part must be no more than {MAX_NAME_LENGTH} bytes")
    if not _match_name(name):
        faults.append(f"name part {_NAME_RULE}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """What is wrong with a label value; [] when nothing is."""
    faults = []
    if len(value.encode()) > MAX_NAME_LENGTH:
        faults.append(f"must be no more than {MAX_NAME_LENGTH} bytes")
    if not _match_value(value):
        faults.append(_VALUE_RULE)
    return faults


def dns_subdomain_faults(value: str) -> list[str]:
    """What is wrong with a lower-case DNS subdomain (RFC 1123); [] when nothing is."""
    faults = []
    if len(value.encode()) > MAX_SUBDOMAIN_LENGTH:
        faults.append(f"must be no more than {MAX_SUBDOMAIN_LENGTH} bytes")
    if not _match_subdomain(value):
        faults.append(_SUBDOMAIN_RULE)
    return faults
