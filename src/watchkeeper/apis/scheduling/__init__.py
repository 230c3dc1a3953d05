"""Priority classes."""
