"""OpenAPI v2 and v3: what the API looks like, for kubectl explain, kubectl apply, validation and code generators.

Documents are made from schema data and the catalog of resources when somebody first asks, and kept until they change.
"""

from watchkeeper.endpoints.openapi.custom import CustomVersion
from watchkeeper.endpoints.openapi.documents import Document, OpenAPI

__all__ = ["CustomVersion", "Document", "OpenAPI"]
