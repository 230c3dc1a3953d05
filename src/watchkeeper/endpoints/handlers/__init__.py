"""One handler per verb: read the request, ask the registry, write the answer."""
