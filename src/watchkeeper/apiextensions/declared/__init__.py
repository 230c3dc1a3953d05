"""Kinds declared in Python: a class is the schema, and the server serves it as it serves any custom resource."""
