"""What a watch promises, as cases to be run over any storage on any key-value store. See `storage_suite`."""

from watchkeeper.testing.cases import case_name
from watchkeeper.testing.storage_suite.rig import Case, Rig, prove
from watchkeeper.testing.watch_suite import basics, promises, selectors, watch_lists

CASES: tuple[Case, ...] = (*basics.CASES, *selectors.CASES, *watch_lists.CASES, *promises.CASES)

__all__ = ["CASES", "Case", "Rig", "case_name", "prove"]
