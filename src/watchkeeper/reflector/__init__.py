"""List and watch kept in step: the Reflector and what it works between."""
