"""CustomResourceDefinitions themselves: defaults, validation, conditions and how they are written."""
