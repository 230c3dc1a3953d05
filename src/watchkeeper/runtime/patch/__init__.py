"""The three patches that say how to change an object: JSON patch, JSON merge patch, strategic merge patch.

Each is parsed once and then applied to one state after another. What is given is never changed; the outcome may share
parts with it.
"""

from watchkeeper.runtime.patch.json_patch import JsonPatch, PatchError
from watchkeeper.runtime.patch.merge_patch import MergePatch
from watchkeeper.runtime.patch.outcome import outcome_in_order, outcome_text
from watchkeeper.runtime.patch.strategic import StrategicPatch

__all__ = ["JsonPatch", "MergePatch", "PatchError", "StrategicPatch", "outcome_in_order", "outcome_text"]
