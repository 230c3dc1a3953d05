"""Reads kubeconfig files, and what a pod is given."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from watchkeeper.client.config import SERVICE_ACCOUNT, ClientConfig
from watchkeeper.client.errors import ConfigError

Json = Any


def load_config(path: Path | str | None = None, context: str = "") -> ClientConfig:
    """The configuration of a file, of $KUBECONFIG, of ~/.kube/config, or of the pod this runs in: the first there is.

    `context` is the name of the file's context to use, if not its current one. Raises ConfigError.
    """
    if path is not None:
        return load_kubeconfig([Path(path)], context)
    named = [Path(p) for p in os.environ.get("KUBECONFIG", "").split(os.pathsep) if p]
    if named:
        return load_kubeconfig([p for p in named if p.exists()] or named, context)
    usual = Path.home() / ".kube" / "config"
    if usual.exists() or "KUBERNETES_SERVICE_HOST" not in os.environ:
        return load_kubeconfig([usual], context)
    return in_cluster()


def in_cluster(environment: Mapping[str, str] = os.environ, directory: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """The configuration of a pod. Raises ConfigError outside of one."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod")
    token, authority = directory / "token", directory / "ca.crt"
    if not token.exists():
        raise ConfigError(f"{token} is not there: the pod has no service account token")
    namespace = directory / "namespace"
    return ClientConfig(
        url=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        token_file=token,
        tls=ssl.create_default_context(cafile=str(authority) if authority.exists() else None),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def load_kubeconfig(paths: list[Path], context: str = "") -> ClientConfig:
    """The configuration of one or more files; of entries with the same name the first counts. Raises ConfigError."""
    merged: dict[str, dict[str, tuple[Json, Path]]] = {"contexts": {}, "clusters": {}, "users": {}}
    current = context
    for path in paths:
        content = _read(path)
        current = current or str(content.get("current-context") or "")
        for kind, entries in merged.items():
            for entry in content.get(kind) or ():
                entries.setdefault(str(entry.get("name")), (entry.get(kind[:-1]) or {}, path.parent))
    where = ", ".join(map(str, paths))
    if not current:
        raise ConfigError(f"{where}: no current-context, and no context was asked for")
    chosen, _ = _find(merged, "contexts", current, where)
    cluster = _Part(*_find(merged, "clusters", str(chosen.get("cluster") or ""), where))
    user = _Part(*_find(merged, "users", str(chosen["user"]), where)) if chosen.get("user") else _Part({}, Path())
    return _config(cluster, user, str(chosen.get("namespace") or "default"), where)


def _read(path: Path) -> Json:
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}") from problem
    except yaml.YAMLError as problem:
        raise ConfigError(f"{path}: {problem}") from problem
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path} is no kubeconfig")
    return content


def _find(merged: Mapping[str, dict[str, tuple[Json, Path]]], kind: str, name: str, where: str) -> tuple[Json, Path]:
    found = merged[kind].get(name)
    if found is None:
        raise ConfigError(f"{where}: there is no {kind[:-1]} {name!r}")
    return found


class _Part:
    """An entry of a kubeconfig; files that it names are relative to the file that it stands in."""

    def __init__(self, entry: Json, directory: Path) -> None:
        self.entry = entry
        self.directory = directory

    def text(self, key: str) -> str:
        return str(self.entry.get(key) or "")

    def path(self, key: str) -> Path | None:
        return self.directory / self.text(key) if self.text(key) else None

    def data(self, key: str) -> bytes | None:
        """What stands under KEY-data, or in the file that KEY names."""
        encoded, path = self.text(f"{key}-data"), self.path(key)
        try:
            if encoded:
                return base64.b64decode(encoded, validate=True)
            return path.read_bytes() if path is not None else None
        except (binascii.Error, ValueError) as problem:
            raise ConfigError(f"{key}-data: {problem}") from problem
        except OSError as problem:
            raise ConfigError(f"{path}: {problem.strerror}") from problem


def _config(cluster: _Part, user: _Part, namespace: str, where: str) -> ClientConfig:
    url = cluster.text("server")
    if not url:
        raise ConfigError(f"{where}: the cluster has no server")
    for unsupported in ("exec", "auth-provider"):
        if user.entry.get(unsupported):
            raise ConfigError(f"{where}: credentials by {unsupported} are not supported; use a token or a certificate")
    password = (user.text("username"), user.text("password")) if user.text("username") else None
    for unsupported in ("as-groups", "as-user-extra"):
        if user.entry.get(unsupported):
            raise ConfigError(f"{where}: impersonation with {unsupported} is not supported; impersonate a user only")
    headers: dict[str, str] = {}
    if user.text("as"):
        headers["Impersonate-User"] = user.text("as")
    if user.text("as-uid"):
        headers["Impersonate-Uid"] = user.text("as-uid")
    return ClientConfig(
        url=url.rstrip("/"),
        token=user.text("token"),
        token_file=user.path("tokenFile") if not user.text("token") else None,
        basic=password,
        tls=_tls(cluster, user) if url.startswith("https") else None,
        server_name=cluster.text("tls-server-name"),
        namespace=namespace,
        headers=headers,
    )


def _tls(cluster: _Part, user: _Part) -> ssl.SSLContext:
    authority = cluster.data("certificate-authority")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority is not None else None)
        if cluster.entry.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = user.data("client-certificate"), user.data("client-key")
        if certificate is not None and key is not None:
            _load_chain(context, certificate, key)
    except (ssl.SSLError, ValueError) as problem:
        raise ConfigError(f"certificates cannot be used: {problem}") from problem
    return context


def _load_chain(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """`ssl` takes certificates from files only; theirs is gone before this returns."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
