"""What a server answers besides resources."""

from __future__ import annotations

from watchkeeper.endpoints.app import PathHandler
from watchkeeper.endpoints.handlers.discovery import RootPath
from watchkeeper.server.assembly import Assembly
from watchkeeper.server.health import Health
from watchkeeper.server.metrics.endpoint import Metrics
from watchkeeper.server.openid import CONFIGURATION, KEYS, OpenID
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.version import Version
from watchkeeper.server.zpages import Flagz, Statusz


def served_paths(
    options: ServeOptions, assembly: Assembly, health: Health, metrics: Metrics, openid: OpenID
) -> tuple[dict[str, PathHandler], dict[str, PathHandler]]:
    """Who answers exact paths, and all below a path."""
    paths: dict[str, PathHandler] = {
        "/metrics": metrics.handle,
        "/metrics/slis": metrics.handle_slis,
        "/version": Version().handle,
        "/flagz": Flagz(options).handle,
        CONFIGURATION: openid.configuration,
        KEYS: openid.keys,
    }
    prefixes = {"/version/": paths["/version"]}
    for name in ("/healthz", "/livez", "/readyz"):
        paths[name] = health.handle
        prefixes[f"{name}/"] = health.handle
    pages = [path for path in paths if "/" not in path[1:]]
    paths["/statusz"] = Statusz([*pages, "/statusz"]).handle
    served, below = assembly.paths()
    paths.update(served)
    prefixes.update(below)
    listed = [*paths, *(path for path in below if path.startswith("/openapi"))]
    paths["/"] = RootPath(assembly.discovery, lambda: [*listed, *health.paths()]).handle
    paths["/index.html"] = paths["/"]
    paths.update({f"{path}/": paths[path] for path in (CONFIGURATION, KEYS)})
    return paths, prefixes
