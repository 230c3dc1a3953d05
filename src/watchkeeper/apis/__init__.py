"""The built-in kinds: their schemas as data, and a small module for each kind that needs code."""
