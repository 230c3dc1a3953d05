"""A server that sends its audit events to a webhook."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from https_server import HttpsServer
from tests.waiting import eventually

from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle, RequestFailed

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: Request, verbs: [create], resources: [{resources: [configmaps]}]}
- {level: None}
"""
MAPS = "/api/v1/namespaces/default/configmaps"


class Receiver:
    """Keeps the events that it is sent."""

    def __init__(self, folder: Path) -> None:
        make_certificates(folder)
        self.lists: list[Any] = []
        self.failing = False
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not receiver.failing:
                    receiver.lists.append(body)
                self.send_response(500 if receiver.failing else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self._server = HttpsServer(folder, Handler)
        url = f"{self._server.url}/audit"
        self.kubeconfig = folder / "kubeconfig"
        cluster = {"server": url, "certificate-authority": str(folder / "ca.crt")}
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "c", "cluster": cluster}],
                    "contexts": [{"name": "x", "context": {"cluster": "c"}}],
                    "current-context": "x",
                }
            )
        )

    def events(self, name: str) -> list[Any]:
        found = [event for each in self.lists for event in each["items"]]
        return [event for event in found if event.get("objectRef", {}).get("name") == name]

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    made = Receiver(tmp_path / "receiver")
    yield made
    made.close()


def serving(folder: Path, receiver: Receiver, **options: Any) -> Server:
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    return Server(
        insecure_http=True,
        controllers=(),
        audit_policy_file=policy,
        audit_webhook_config_file=receiver.kubeconfig,
        **{"audit_webhook_initial_backoff": 0.001, **options},
    )


def make(server: Handle, name: str, **data: str) -> None:
    server.request("POST", MAPS, {"metadata": {"name": name}, "data": data})


def metric(server: Handle, name: str) -> float:
    lines = server.request("GET", "/metrics").splitlines()
    [found] = [line for line in lines if line.startswith(f"{name} ")]
    return float(found.rpartition(" ")[2])


def test_batches_arrive_in_time_and_at_the_end(tmp_path: Path, receiver: Receiver) -> None:
    with serving(tmp_path, receiver, audit_webhook_batch_max_wait=0.05) as server:
        make(server, "one")
        eventually(lambda: len(receiver.events("one")) >= 1)
    with serving(tmp_path, receiver) as server:
        make(server, "two")
        assert receiver.events("two") == []
    assert [event["stage"] for event in receiver.events("two")] == ["ResponseComplete"]
    [event] = receiver.events("two")
    assert event["requestObject"]["metadata"] == {"name": "two"}
    assert "kind" not in event
    assert receiver.lists[-1]["kind"] == "EventList"


def test_who_has_an_answer_was_told_of(tmp_path: Path, receiver: Receiver) -> None:
    log = tmp_path / "audit.log"
    with serving(tmp_path, receiver, audit_webhook_mode="blocking", audit_log_path=str(log)) as server:
        make(server, "one")
        assert [event["stage"] for event in receiver.events("one")] == ["ResponseComplete"]
        assert [json.loads(line)["stage"] for line in log.read_text().splitlines()] == [
            "RequestReceived",
            "ResponseComplete",
        ]
        receiver.failing = True
        make(server, "two")
        assert metric(server, 'apiserver_audit_error_total{plugin="webhook"}') == 2
        assert metric(server, 'apiserver_audit_error_total{plugin="log"}') == 0


def test_what_cannot_be_told_of_is_refused(tmp_path: Path, receiver: Receiver) -> None:
    with serving(tmp_path, receiver, audit_webhook_mode="blocking-strict") as server:
        make(server, "one")
        receiver.failing = True
        with pytest.raises(RequestFailed) as refused:
            make(server, "two")
        assert refused.value.status == 500
        assert "failed to store audit event" in str(refused.value.answer)
        receiver.failing = False
        with pytest.raises(RequestFailed):
            server.request("GET", f"{MAPS}/two")


def test_large_events_lose_their_objects(tmp_path: Path, receiver: Receiver) -> None:
    limits = {"audit_webhook_truncate_enabled": True, "audit_webhook_truncate_max_event_size": 2000}
    with serving(tmp_path, receiver, audit_webhook_mode="blocking", **limits) as server:
        make(server, "large", text="x" * 3000)
        make(server, "small", text="x")
    [large], [small] = receiver.events("large"), receiver.events("small")
    assert "requestObject" not in large
    assert large["annotations"]["audit.k8s.io/truncated"] == "true"
    assert small["requestObject"]["data"] == {"text": "x"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"audit_webhook_mode": "all"}, 'invalid audit webhook mode all, allowed modes are "batch,blocking,'),
        ({"audit_webhook_version": "v1"}, "invalid group version, allowed versions are"),
        ({"audit_log_version": "audit.k8s.io/v1beta1"}, "invalid group version, allowed versions are"),
        (
            {"audit_webhook_batch_buffer_size": 0},
            "invalid audit batch webhook buffer size 0, must be a positive number",
        ),
        ({"audit_webhook_batch_max_size": -1}, "invalid audit batch webhook max batch size -1, must be a positive"),
        ({"audit_webhook_batch_throttle_qps": 0.0}, "invalid audit batch webhook throttle QPS 0, must be a positive"),
        ({"audit_webhook_batch_throttle_burst": 0}, "invalid audit batch webhook throttle burst 0, must be a positive"),
        ({"audit_log_truncate_max_event_size": 0}, "invalid audit truncate log max event size 0, must be a positive"),
        (
            {"audit_webhook_truncate_max_batch_size": 5},
            "invalid audit truncate webhook max batch size 5, must be greater than max event size \\(102400\\)",
        ),
        ({"audit_policy_file": None}, "--audit-webhook-config-file needs --audit-policy-file"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, options: Any, why: str) -> None:
    given = {"audit_policy_file": tmp_path / "p", "audit_webhook_config_file": tmp_path / "k", **options}
    with pytest.raises(StartupError, match=why):
        ServeOptions(data_dir=tmp_path, **given).check()


def test_a_webhook_that_is_none_keeps_a_server_from_starting(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    missing = tmp_path / "nothing"
    options = {"audit_policy_file": policy, "audit_webhook_config_file": missing}
    with pytest.raises(StartupError, match="initializing audit webhook: "), Server(insecure_http=True, **options):
        pass
