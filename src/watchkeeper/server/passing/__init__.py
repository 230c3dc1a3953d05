"""Requests that somebody else answers: another API server, a kubelet, a Pod.

`Passing` sends one and hands back its answer, `upgrade` goes on in another protocol. Both are given `Terms`, which say
what the backend gets to see of the request, and the client of the answer. Loaded with the first such request.
"""
