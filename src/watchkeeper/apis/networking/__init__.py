"""networking.k8s.io."""
