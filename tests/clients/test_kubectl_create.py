"""kubectl create with every generator, run and expose, really and for show."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubectl_runner import Kubectl

pytestmark = pytest.mark.kubectl


def got(kubectl: Kubectl, what: str) -> Any:
    return json.loads(kubectl(f"get {what} -o json"))


def test_workloads(kubectl: Kubectl) -> None:
    assert kubectl("create deployment d --image=web:1 --replicas=2 --port=80") == "deployment.apps/d created\n"
    assert got(kubectl, "deploy d")["spec"]["replicas"] == 2
    assert kubectl("create job j --image=busybox -- date") == "job.batch/j created\n"
    assert got(kubectl, "job j")["spec"]["template"]["spec"]["containers"][0]["command"] == ["date"]
    assert kubectl("create cronjob cj --image=busybox --schedule='*/5 * * * *'") == "cronjob.batch/cj created\n"
    assert kubectl("create job now --from=cronjob/cj") == "job.batch/now created\n"
    owner = got(kubectl, "job now")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("CronJob", "cj")
    assert kubectl.fails("create deployment d --image=web:1") == (
        'error: failed to create deployment: deployments.apps "d" already exists\n'
    )
    assert (
        kubectl.fails("create job j --image=busybox") == 'error: failed to create job: jobs.batch "j" already exists\n'
    )


def test_configuration_and_secrets(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("[a]\n")
    (tmp_path / "vars").write_text("X=1\nY=2\n")
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (tmp_path / "crt").write_bytes(certificate(key))
    kubectl(f"create configmap c --from-literal=a=b --from-file={tmp_path}/app.ini")
    assert got(kubectl, "cm c")["data"] == {"a": "b", "app.ini": "[a]\n"}
    kubectl(f"create configmap v --from-env-file={tmp_path}/vars --append-hash")
    assert {"X": "1", "Y": "2"} in [item.get("data") for item in got(kubectl, "cm")["items"]]
    assert kubectl("create secret generic s --from-literal=a=b --type=example.com/x") == "secret/s created\n"
    assert (got(kubectl, "secret s")["data"], got(kubectl, "secret s")["type"]) == ({"a": "Yg=="}, "example.com/x")
    kubectl("create secret docker-registry r --docker-server=x --docker-username=a --docker-password=b")
    assert got(kubectl, "secret r")["type"] == "kubernetes.io/dockerconfigjson"
    kubectl(f"create secret tls t --cert={tmp_path}/crt --key={tmp_path}/key")
    assert sorted(got(kubectl, "secret t")["data"]) == ["tls.crt", "tls.key"]


def certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example.com")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_services_and_what_leads_to_them(kubectl: Kubectl) -> None:
    assert kubectl("create service clusterip a --tcp=80:8080") == "service/a created\n"
    assert got(kubectl, "svc a")["spec"]["clusterIP"].startswith("10.")
    kubectl("create service clusterip headless --clusterip=None")
    kubectl("create service nodeport b --tcp=80:8080 --node-port=30333")
    assert kubectl.fails("create service nodeport c --tcp=80:8080 --node-port=30333") == (
        'error: failed to create NodePort service: Service "c" is invalid: spec.ports[0].nodePort: Invalid value:'
        " 30333: provided port is already allocated\n"
    )
    kubectl("create service loadbalancer d --tcp=443")
    kubectl("create service externalname e --external-name=mail.example.com")
    types = kubectl("get svc -o jsonpath='{range .items[*]}{.metadata.name}={.spec.type} {end}'").split()
    assert types == ["a=ClusterIP", "b=NodePort", "d=LoadBalancer", "e=ExternalName", "headless=ClusterIP"]
    kubectl("create ingress i --class=nginx --rule=shop.example.com/x*=a:80,tls=cert --default-backend=a:80")
    spec = got(kubectl, "ing i")["spec"]
    assert spec["rules"][0]["http"]["paths"][0]["pathType"] == "Prefix"
    assert spec["tls"] == [{"hosts": ["shop.example.com"], "secretName": "cert"}]


def test_limits_and_budgets(kubectl: Kubectl) -> None:
    assert kubectl("create quota q --hard=cpu=1,pods=2") == "resourcequota/q created\n"
    assert "unsupported scope applied to resource" in kubectl.fails("create quota r --hard=cpu=1 --scopes=BestEffort")
    kubectl("create poddisruptionbudget a --selector=a=b --min-available=1")
    kubectl("create poddisruptionbudget b --selector=a=b --max-unavailable=50%")
    assert got(kubectl, "pdb b")["spec"]["maxUnavailable"] == "50%"
    name = f"urgent-{kubectl.namespace}"
    kubectl(f"create priorityclass {name} --value=10 --description=hi --preemption-policy=Never")
    assert got(kubectl, f"pc {name}")["preemptionPolicy"] == "Never"
    kubectl(f"delete pc {name}")
    assert kubectl(f"create namespace n-{kubectl.namespace}") == f"namespace/n-{kubectl.namespace} created\n"
    kubectl(f"delete namespace n-{kubectl.namespace}")


def test_accounts_and_what_they_may(kubectl: Kubectl) -> None:
    role = f"cr-{kubectl.namespace}"
    kubectl("create serviceaccount bot")
    kubectl("create role r --verb=get,list --resource=pods,deployments.apps,replicasets.apps/scale --resource-name=x")
    kubectl(f"create rolebinding rb --role=r --user=u --group=g --serviceaccount={kubectl.namespace}:bot")
    kubectl(f"create clusterrole {role} --verb=get --non-resource-url='/logs/*'")
    kubectl(f"create clusterrolebinding {role} --clusterrole={role} --group=g")
    assert [s["kind"] for s in got(kubectl, "rolebinding rb")["subjects"]] == ["User", "Group", "ServiceAccount"]
    groups = sorted(rule["apiGroups"][0] for rule in got(kubectl, "role r")["rules"])
    assert groups == ["", "apps", "apps"] or groups == ["", "apps"]
    kubectl(f"delete clusterrole,clusterrolebinding {role}")
    token = kubectl("create token bot --duration=15m")
    assert token.count(".") == 2
    who = json.loads(kubectl.as_bearer(token.strip())("auth whoami -o json"))["status"]["userInfo"]
    assert who["username"] == f"system:serviceaccount:{kubectl.namespace}:bot"
    kubectl("create secret generic s --from-literal=a=b")
    assert kubectl("create token bot --bound-object-kind=Secret --bound-object-name=s").count(".") == 2
    assert kubectl.fails("create token nobody") == 'error: failed to create token: serviceaccounts "nobody" not found\n'
    assert kubectl.fails("create token bot --duration=1m").endswith("may not specify a duration less than 10 minutes\n")


def test_pods_run_and_are_exposed(kubectl: Kubectl) -> None:
    assert kubectl("run web --image=nginx:1 --port=80 --expose") == "pod/web created\nservice/web created\n"
    kubectl("run job --image=busybox --env=A=b --labels=x=y --restart=Never --command -- sleep 5")
    spec = got(kubectl, "pod job")["spec"]
    assert (spec["restartPolicy"], spec["containers"][0]["command"]) == ("Never", ["sleep", "5"])
    assert kubectl.fails("run job --image=busybox") == 'Error from server (AlreadyExists): pods "job" already exists\n'
    assert kubectl("expose pod job --port=80 --target-port=http --type=NodePort --name=j") == "service/j exposed\n"
    assert got(kubectl, "svc j")["spec"]["selector"] == {"x": "y"}
    kubectl("create deployment d --image=web:1")
    assert kubectl("expose deployment d --port=81") == "service/d exposed\n"
    assert kubectl.fails("expose deployment d --port=81").startswith("Error from server (AlreadyExists)")


def test_dry_runs_create_nothing(kubectl: Kubectl) -> None:
    client = kubectl("create deployment d --image=web:1 --dry-run=client -o yaml")
    server = json.loads(kubectl("create deployment d --image=web:1 --dry-run=server -o json"))
    assert "progressDeadlineSeconds" not in client
    assert server["spec"]["progressDeadlineSeconds"] == 600
    assert kubectl("run p --image=x --dry-run=server") == "pod/p created (server dry run)\n"
    assert kubectl("run p --image=x --dry-run=client -o name") == "pod/p\n"
    assert kubectl("create -f - --dry-run=server", client) == "deployment.apps/d created (server dry run)\n"
    assert kubectl("get all,cm -o name") == ""
