"""Tokens of issuers elsewhere (OpenID Connect): whose keys are fetched, and whose claims say who a user is."""
