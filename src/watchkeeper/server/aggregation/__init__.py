"""Requests for what other API servers serve, which APIServices tell of: passed on to these, as kube-aggregator does.

All of it is loaded when the first such APIService is there.
"""
