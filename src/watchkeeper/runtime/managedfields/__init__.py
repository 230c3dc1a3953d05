"""Who owns which field of an object: server-side apply and metadata.managedFields.

A library of structured merge and diff. `FieldManager` is what handlers use; the modules below it are, from the bottom:
`path` and `field_set` (sets of fields and their algebra, in the form of fieldsV1), `nodes` (what of a schema is owned
as one, by field, by item), `compare`, `named`, `merge`, `reconcile` and `validate` (what one can do with values of such
types), `updater` (who owns what after a write), `entries` and `capping` (the record in an object), and `applying`.
"""

from watchkeeper.runtime.managedfields.entries import EntryError, check_record
from watchkeeper.runtime.managedfields.field_manager import FieldManager
from watchkeeper.runtime.managedfields.filters import Filter, excluding, including
from watchkeeper.runtime.managedfields.foreign import Foreign, completed
from watchkeeper.runtime.managedfields.path import Path
from watchkeeper.runtime.managedfields.scale import REPLICAS_PATH, ScaleRecord
from watchkeeper.runtime.managedfields.timestamps import keep_times_of_unchanged
from watchkeeper.runtime.managedfields.tracking import utc_now

__all__ = [
    "REPLICAS_PATH",
    "EntryError",
    "FieldManager",
    "Filter",
    "Foreign",
    "Path",
    "ScaleRecord",
    "check_record",
    "completed",
    "excluding",
    "including",
    "keep_times_of_unchanged",
    "utc_now",
]
