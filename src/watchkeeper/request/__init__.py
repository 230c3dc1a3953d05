"""A request on its way through the server: what it asks, who asks, and what was noted along the way."""
