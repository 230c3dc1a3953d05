"""The group apiregistration.k8s.io: which group and version is served by whom."""
