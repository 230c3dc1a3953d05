"""The KV contract, case by case, on a real etcd."""

import pytest
from etcd_fixtures import empty_store, needs_etcd, run

from watchkeeper.testing.kv_suite import CASES, Case, case_name

pytestmark = needs_etcd


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_etcd(case: Case) -> None:
    async def prove() -> None:
        kv = await empty_store()
        try:
            await case(kv)
        finally:
            await kv.close()

    run(prove())
