"""The commands `export` and `import`, from their arguments to their exit codes."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import DynamicClient
from watchkeeper.client.errors import ConfigError
from watchkeeper.client.kubeconfig import load_config
from watchkeeper.client.rest import RestClient
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.transfer.exporting import Export
from watchkeeper.server.transfer.importing import Import
from watchkeeper.server.transfer.interface import TransferError
from watchkeeper.server.transfer.manifests import read_manifests
from watchkeeper.server.transfer.server_source import ServerSource


def run_export(parsed: argparse.Namespace, options: ServeOptions) -> int:
    """Export from the store that `options` name, if they name any, else from a server. Raises StartupError."""
    if options.storage:
        from watchkeeper.server.transfer.store_source import StoreSource

        wanted = _export(parsed, parsed.namespace or "default")
        return _run(wanted.run(StoreSource(options)))
    return _run(_export_from_server(parsed))


def _export(parsed: argparse.Namespace, namespace: str) -> Export:
    return Export(
        namespace="" if parsed.all else namespace, target=parsed.output, include_secrets=parsed.include_secrets
    )


async def _export_from_server(parsed: argparse.Namespace) -> int:
    config = _config(parsed)
    async with _client(config) as client:
        return await _export(parsed, parsed.namespace or config.namespace).run(ServerSource(client))


def run_import(parsed: argparse.Namespace) -> int:
    """Apply manifests to a server. Raises StartupError."""
    return _run(_import(parsed))


async def _import(parsed: argparse.Namespace) -> int:
    objects = read_manifests(parsed.paths)
    async with _client(_config(parsed)) as client:
        return await Import(DynamicClient(client), dry_run=parsed.dry_run).run(objects)


def _config(parsed: argparse.Namespace) -> ClientConfig:
    """Of the kubeconfig that was named, or that a server of this data directory has written, or that kubectl takes."""
    own: Path = parsed.data_dir / "kubeconfig"
    path = parsed.kubeconfig
    if path is None and not os.environ.get("KUBECONFIG") and own.exists():
        path = own
    try:
        return load_config(path, parsed.context)
    except ConfigError as error:
        raise TransferError(str(error)) from error


def _client(config: ClientConfig) -> RestClient:
    try:
        return RestClient(config)
    except ValueError as error:
        raise TransferError(str(error)) from error


def _run(work: Coroutine[Any, Any, int]) -> int:
    try:
        return asyncio.run(work)
    except TransferError as error:
        raise StartupError(str(error)) from error
