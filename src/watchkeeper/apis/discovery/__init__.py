"""discovery.k8s.io."""
