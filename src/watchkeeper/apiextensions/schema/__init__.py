"""Structural schemas, and the functions they are compiled into: prune, default, check, validate."""
