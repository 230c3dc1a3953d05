"""Events as the group events.k8s.io shows them."""
