"""What `storage.Interface` promises, as cases to be run over any storage on any key-value store.

Every case is a coroutine function that takes a `Rig` and proves the sentence that is its name:

    @pytest.mark.parametrize("case", CASES, ids=case_name)
    def test_my_store(case):
        asyncio.run(prove(case, Rig(my_kv, cached=True)))

`docs/storage-cases.md` says which of them covers which behavior of kube-apiserver's own storage tests.
"""

from watchkeeper.testing.cases import case_name
from watchkeeper.testing.storage_suite import corrupt, deletes, lists, pages, reads, writes
from watchkeeper.testing.storage_suite.rig import Case, Rig, prove

CASES: tuple[Case, ...] = (
    *writes.CASES,
    *reads.CASES,
    *deletes.CASES,
    *lists.CASES,
    *pages.CASES,
    *corrupt.CASES,
)

__all__ = ["CASES", "Case", "Rig", "case_name", "prove"]
