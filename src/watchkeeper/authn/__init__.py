"""Authentication: who is asking. Tokens, client certificates, nobody in particular."""
