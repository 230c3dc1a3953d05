"""rbac.authorization.k8s.io."""
