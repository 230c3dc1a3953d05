"""coordination.k8s.io."""
