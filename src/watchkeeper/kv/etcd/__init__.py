"""An etcd cluster as a key-value store, spoken to natively. Needs the extra `watchkeeper[etcd]`, when it is opened.

EtcdKV ─▶ Cluster: which member, deadline, again if harmless, token ─▶ Member: a gRPC channel
EtcdWatch: one stream at a time, resumed where it broke
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.etcd.config import EtcdConfig

if TYPE_CHECKING:
    from watchkeeper.kv.etcd.store import EtcdKV

__all__ = ["EtcdConfig", "open_etcd"]


def open_etcd(config: EtcdConfig) -> EtcdKV:
    """A store on the cluster of `config`; it connects at the first call. Needs a running event loop.

    Raises Unavailable when gRPC is not installed or a certificate cannot be read.
    """
    try:
        from watchkeeper.kv.etcd.store import EtcdKV
    except ImportError as error:
        raise Unavailable(f"etcd needs `pip install 'watchkeeper[etcd]'` ({error})") from error
    return EtcdKV(config)
