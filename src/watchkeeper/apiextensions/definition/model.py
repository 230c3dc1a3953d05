"""The names by which definitions go."""

GROUP = "apiextensions.k8s.io"
KIND = "CustomResourceDefinition"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a definition until its instances are gone."""
