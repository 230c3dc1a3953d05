"""certificates.k8s.io."""
