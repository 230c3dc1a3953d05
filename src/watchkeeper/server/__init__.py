"""The server: options, assembly, TLS, health, metrics, HTTP/1.1, the command line and a graceful stop."""
