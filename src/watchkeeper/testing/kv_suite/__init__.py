"""The KV contract as cases, to be run over any backend.

Every case is a coroutine function that takes a store without keys, proves one sentence of `kv.interface`, and asserts.
Revisions need not begin at 1: a case only counts from where it found the store. Run all of `CASES`, for example

    @pytest.mark.parametrize("case", CASES, ids=case_name)
    def test_my_backend(case):
        asyncio.run(run(case))
"""

from watchkeeper.testing.cases import case_name
from watchkeeper.testing.kv_suite import compaction, leases, lifecycle, ranges, reads, watch_streams, watches, writes
from watchkeeper.testing.kv_suite.case import Case

CASES: tuple[Case, ...] = (
    *reads.CASES,
    *ranges.CASES,
    *writes.CASES,
    *watches.CASES,
    *watch_streams.CASES,
    *leases.CASES,
    *compaction.CASES,
    *lifecycle.CASES,
)

__all__ = ["CASES", "Case", "case_name"]
