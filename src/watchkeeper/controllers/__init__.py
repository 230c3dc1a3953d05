"""What a lone API server lacks: namespaces that finish terminating, and garbage collection of dependents."""
