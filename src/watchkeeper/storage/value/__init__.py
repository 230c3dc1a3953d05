"""Value transformers: what happens to encoded objects on their way into and out of the key-value store."""
