"""The Common Expression Language as Kubernetes has it: parser, type checker, cost estimates and evaluation."""
