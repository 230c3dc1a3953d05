"""Disruption budgets."""
