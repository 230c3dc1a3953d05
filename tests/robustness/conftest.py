import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def server() -> Iterator[Handle]:
    """One server for all tests here that do not break theirs; each uses names of its own."""
    with Server(insecure_http=True, controllers=()) as handle:
        yield handle
