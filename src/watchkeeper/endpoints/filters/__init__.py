"""The filters that every request passes before its handler.

A filter is a function of the request. It returns None to let the request go on, or the Response that ends it; it raises
an ApiError to refuse. Most decide at once; one that must wait returns an awaitable of the same. To act when the answer
is out, it registers `request.on_done`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from watchkeeper.endpoints.response import Response
from watchkeeper.request.request import Request

Filter = Callable[[Request], "Response | Awaitable[Response | None] | None"]
