"""What a server is told of front proxies on its command line."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions

log = logging.getLogger(__name__)

_UNSUITABLE = "is set without specifying the standard {} - API aggregation will not work"


def check_front_proxy(options: ServeOptions) -> None:
    """Raises StartupError for headers and names that cannot be meant; warns of those that others do not look at."""
    lists = (
        ("requestheader-username-headers", options.requestheader_username_headers, "X-Remote-User header"),
        ("requestheader-group-headers", options.requestheader_group_headers, "X-Remote-Group header"),
        ("requestheader-extra-headers-prefix", options.requestheader_extra_headers_prefix,
         "X-Remote-Extra- header prefix"),
        ("requestheader-allowed-names", options.requestheader_allowed_names, ""),
        ("requestheader-uid-headers", options.requestheader_uid_headers, "X-Remote-Uid header"),
    )  # fmt: skip
    for flag, values, standard in lists:
        if any(not value.strip() for value in values):
            raise StartupError(f'empty value in "{flag}"')
        if standard and values and not _has(values, standard.split()[0]):
            problem = f"--{flag} {_UNSUITABLE.format(standard)}"
            if flag == "requestheader-uid-headers":
                raise StartupError(problem)
            log.warning("%s", problem)


def _has(values: Iterable[str], wanted: str) -> bool:
    return any(value.lower() == wanted.lower() for value in values)
