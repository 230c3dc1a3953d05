"""storage.k8s.io."""
