"""The registry: one generic implementation of every verb, and what each resource does otherwise."""
