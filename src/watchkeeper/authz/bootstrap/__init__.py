"""The roles and bindings that every cluster begins with (kube-apiserver's bootstrappolicy), as facts.

Feature gates are taken as Kubernetes 1.36 sets them by default.
"""
