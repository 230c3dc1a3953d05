"""HTTP: verbs on resources, negotiation, discovery, OpenAPI, and the filters that every request passes."""
