"""Custom resources: definitions, their schemas compiled to functions, and serving them like built-in kinds."""
