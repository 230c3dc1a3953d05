"""Checks that many kinds share: names, metadata, selectors, numbers, quantities, addresses."""
