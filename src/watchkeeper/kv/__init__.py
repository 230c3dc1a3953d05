"""Revisioned bytes: the key-value stores an API server stands on. Nothing here knows Kubernetes."""
