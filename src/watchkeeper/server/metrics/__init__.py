"""/metrics: what the parts of the server count, in the words of Prometheus.

Nothing is registered globally and nothing is copied as it is counted: each part keeps plain numbers, and a collector
turns them into families when somebody scrapes.
"""
