"""API objects over a key-value store: `storage.Interface`, the store behind it and the cache in front of it."""
