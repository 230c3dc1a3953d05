"""The vocabulary of the API: kinds and resources, metadata, selectors, Status errors, field paths."""
