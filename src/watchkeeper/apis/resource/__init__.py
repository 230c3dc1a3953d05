"""Devices that pods ask for: classes, claims, templates of claims, and slices that drivers publish."""
