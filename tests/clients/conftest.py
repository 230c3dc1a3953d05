from __future__ import annotations

from pathlib import Path

import pytest
from kubectl_runner import KUBECTL, Kubectl


@pytest.fixture(scope="session")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where kubectl keeps what it has learned about the server: once for the whole run."""
    return tmp_path_factory.mktemp("kubectl")


@pytest.fixture
def kubectl(watchkeeper_kubeconfig: Path, watchkeeper_namespace: str, kubectl_home: Path) -> Kubectl:
    """kubectl in an empty namespace."""
    if not Path(KUBECTL).exists():
        pytest.skip("kubectl is not installed beside Python")
    return Kubectl(watchkeeper_kubeconfig, kubectl_home, watchkeeper_namespace)
