"""flowcontrol.apiserver.k8s.io."""
