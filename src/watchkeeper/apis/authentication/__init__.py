"""authentication.k8s.io: the kinds that ask who somebody is, and for tokens."""
