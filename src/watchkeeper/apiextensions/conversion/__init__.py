"""Between the versions of a custom resource."""
