"""An ASGI server for HTTP/1.1: httptools parses, asyncio transports carry, TLS is the transport's.

It does what an API server needs and nothing else: keep-alive, pipelining in order, back-pressure in both directions,
limits, client certificates, streams that end cleanly when the server stops. Applications stay plain ASGI.
"""
