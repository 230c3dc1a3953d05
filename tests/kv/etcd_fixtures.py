"""What all tests need that speak to an etcd."""

import pytest

from watchkeeper.testing.etcd import find_etcd
from watchkeeper.testing.etcd_shared import empty_store, run, shared_cluster

__all__ = ["empty_store", "needs_etcd", "run", "shared_cluster"]

needs_etcd = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]
