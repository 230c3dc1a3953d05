"""node.k8s.io."""
