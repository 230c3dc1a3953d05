"""CustomResourceDefinitions themselves: what makes one valid, its names and its conditions."""
