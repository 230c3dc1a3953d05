"""Who needs no credentials, and whose tokens are taken besides the server's own: from a file, or from options."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.authn.configuration import Anonymous, Configuration, ConfigurationError, parse_configuration
from watchkeeper.endpoints.metrics import Family, Sample, histogram_samples
from watchkeeper.meta.field import aggregate
from watchkeeper.server.errors import StartupError
from watchkeeper.server.file_watch import Contents, FileWatch
from watchkeeper.server.options import ServeOptions

if TYPE_CHECKING:
    from watchkeeper.authn.jwt.authenticator import JwtAuthenticator
    from watchkeeper.authn.jwt.issuer import Issuer

log = logging.getLogger(__name__)


def _read_file(path: Path) -> tuple[str, Configuration]:
    """The text of an AuthenticationConfiguration, and what it says. Raises StartupError."""
    try:
        text = path.read_text()
        return text, parse_configuration(text)
    except (OSError, UnicodeDecodeError, ConfigurationError) as error:
        raise StartupError(f'failed to load authentication configuration from file "{path}": {error}') from error


def anonymous_requests(options: ServeOptions, configured: Anonymous | None) -> Anonymous:
    """Which requests need no credentials: what the file says (`configured`), or the options. Raises StartupError.

    Where everybody may do everything they do, as with kube-apiserver; but not over plain HTTP alone, which
    kube-apiserver lacks: clients in Go send no credentials there.
    """
    if configured is not None:
        if not options.anonymous_auth:
            file = options.authentication_config
            raise StartupError(f"--no-anonymous-auth cannot be given where {file} says which requests are anonymous")
        return configured
    if options.anonymous_auth and "AlwaysAllow" in options.authorization_modes and options.tls:
        log.info("requests without credentials are refused, as --authorization AlwaysAllow asks no further")
        return Anonymous(enabled=False)
    return Anonymous(enabled=options.anonymous_auth)


class Issuers:
    """The issuers of a server, kept as the file says that names them."""

    def __init__(self, options: ServeOptions, server_id: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        """`server_id`: what metrics call the server. Raises StartupError."""
        from watchkeeper.authn.jwt.authenticator import JwtAuthenticator

        self._file = options.authentication_config
        self._own = options.service_account_issuer
        self._clock = clock
        self._server_id = server_id
        self._text = ""
        self._reloads: dict[str, tuple[int, float]] = {}
        """How often and when last, by status."""
        self._watch: FileWatch | None = None
        self.authenticator: JwtAuthenticator = JwtAuthenticator(clock)
        self.anonymous: Anonymous | None = None
        """Which requests need no credentials, if the file says so; it stays what it was at the start."""
        if self._file is not None:
            self._text, configuration = _read_file(self._file)
            seen = {self._file: self._text.encode()}
            self._watch = FileWatch("authentication-config", seen, self._take, seen=seen, clock=clock)
            self.anonymous = configuration.anonymous
            self._first = self._read(configuration)
        else:
            self._first = _judged([_flags_issuer(options)], self._own, tuple(options.oidc_signing_algs))

    def collect(self) -> Iterator[Family]:
        """When keys were fetched; and how often the file was taken over anew, and which one holds, if there is one."""
        name = (("apiserver_id_hash", _digest(self._server_id)),)
        yield from self._fetches(name)
        yield self._latencies()
        if self._file is None:
            return
        statuses = [(self._reloads[status], (*name, ("status", status))) for status in sorted(self._reloads)]
        held = (*name, ("hash", _digest(self._text)))
        prefix = "apiserver_authentication_config_controller_"
        yield Family(
            f"{prefix}automatic_reload_last_timestamp_seconds",
            "gauge",
            "When the authentication configuration was last taken over anew, or could not be.",
            [Sample(at, labels) for (_, at), labels in statuses],
        )
        yield Family(
            f"{prefix}automatic_reloads_total",
            "counter",
            "How often the authentication configuration was taken over anew, or could not be.",
            [Sample(count, labels) for (count, _), labels in statuses],
        )
        yield Family(
            f"{prefix}last_config_info", "gauge", "Which authentication configuration holds.", [Sample(1, held)]
        )

    def _latencies(self) -> Family:
        latencies = [
            sample
            for (url, result), latency in self.authenticator.latencies.items()
            for sample in histogram_samples(latency, (("jwt_issuer_hash", _digest(url)), ("result", result)))
        ]
        return Family(
            "apiserver_authentication_jwt_authenticator_latency_seconds",
            "histogram",
            "How long it took to judge a token that was not judged a moment before, in seconds.",
            latencies,
        )

    def _fetches(self, name: tuple[tuple[str, str], ...]) -> Iterator[Family]:
        key_sets = {_digest(url): keys for url, keys in self.authenticator.key_sets().items()}
        prefix = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_"
        yield Family(
            f"{prefix}key_set_info",
            "gauge",
            "Which keys of an issuer were fetched last.",
            [
                Sample(1, (*name, ("hash", f"sha256:{keys.digest}"), ("jwt_issuer_hash", issuer)))
                for issuer, keys in key_sets.items()
                if keys.digest
            ],
        )
        yield Family(
            f"{prefix}timestamp_seconds",
            "gauge",
            "When the keys of an issuer were last fetched, or could not be.",
            [
                Sample(at, (*name, ("jwt_issuer_hash", issuer), ("result", result)))
                for issuer, keys in key_sets.items()
                for result, at in keys.fetches.items()
            ],
        )

    def _count(self, status: str) -> None:
        count, _ = self._reloads.get(status, (0, 0.0))
        self._reloads[status] = count + 1, self._clock.time()

    def start(self) -> None:
        """Look for the issuers' keys, and look at the file."""
        self.authenticator.start(self._first)
        if self._watch is not None:
            self._watch.start()

    async def close(self) -> None:
        """Look no more."""
        if self._watch is not None:
            await self._watch.close()
        await self.authenticator.close()

    def _read(self, configuration: Configuration) -> list[Issuer]:
        return _judged(configuration.jwt, self._own, None)

    async def _take(self, found: Contents) -> bool:
        """Take over the changed file; what else keeps it than its text may get better, and is tried again."""
        from watchkeeper.authn.jwt.keys import KeysUnavailable

        [(path, content)] = found.items()
        try:
            text = (content or await asyncio.to_thread(path.read_bytes)).decode(errors="replace")
            await self.authenticator.replace(self._read(parse_configuration(text)))
        except (OSError, KeysUnavailable, ConfigurationError, StartupError) as error:
            self._count("failure")
            log.error("the issuers of tokens stay as they were: %s", error)
            return isinstance(error, ConfigurationError | StartupError)
        self._text = text
        self._count("success")
        log.info("the issuers of tokens were taken over from the changed file")
        return True


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if text else ""


def issuers_of(options: ServeOptions, server_id: str = "") -> Issuers | None:
    """Whose tokens are taken besides the server's own; None where nothing is said of any. Raises StartupError."""
    check_oidc(options)
    if options.authentication_config is None and not options.oidc_issuer_url:
        return None
    return Issuers(options, server_id)


def check_oidc(options: ServeOptions) -> None:
    """Raises StartupError for `--oidc-…` options that do not go together."""
    given = (
        options.oidc_issuer_url, options.oidc_client_id, options.oidc_ca_file, options.oidc_username_prefix,
        options.oidc_groups_claim, options.oidc_groups_prefix, options.oidc_required_claim,
        options.oidc_username_claim != "sub", options.oidc_signing_algs != ("RS256",),
    )  # fmt: skip
    if not any(given):
        return
    if options.authentication_config is not None:
        raise StartupError("authentication-config file and oidc-* flags are mutually exclusive")
    if not options.oidc_issuer_url or not options.oidc_client_id:
        raise StartupError(
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
        )


def _judged(jwt: Any, own_issuers: tuple[str, ...], algorithms: tuple[str, ...] | None) -> list[Issuer]:
    from watchkeeper.authn.jwt.issuer import ALGORITHMS, read_issuers

    for algorithm in algorithms or ():
        if algorithm not in ALGORITHMS:
            raise StartupError(f'oidc: unsupported signing alg: "{algorithm}"')
    issuers, faults = read_issuers(jwt, own_issuers, algorithms or ALGORITHMS)
    if faults:
        raise StartupError(f"invalid authentication configuration: {aggregate(faults)}")
    return issuers


def _flags_issuer(options: ServeOptions) -> Mapping[str, Any]:
    """What the options say, as a file would."""
    prefix = options.oidc_username_prefix
    if not prefix and options.oidc_username_claim != "email":
        prefix = f"{options.oidc_issuer_url}#"
    issuer: dict[str, Any] = {"url": options.oidc_issuer_url, "audiences": [options.oidc_client_id]}
    if options.oidc_ca_file is not None:
        try:
            issuer["certificateAuthority"] = options.oidc_ca_file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise StartupError(f"cannot read {options.oidc_ca_file}: {error}") from error
    username = {"claim": options.oidc_username_claim, "prefix": "" if prefix == "-" else prefix}
    mappings: dict[str, Any] = {"username": username}
    if options.oidc_groups_claim:
        mappings["groups"] = {"claim": options.oidc_groups_claim, "prefix": options.oidc_groups_prefix}
    required = dict(each.split("=", 1) for each in options.oidc_required_claim)
    rules = [{"claim": claim.strip(), "requiredValue": value.strip()} for claim, value in required.items()]
    return {"issuer": issuer, "claimMappings": mappings, "claimValidationRules": rules}
