"""admissionregistration.k8s.io."""
