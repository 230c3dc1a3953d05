"""The signals that may stop a container, in the order of errors."""

from __future__ import annotations

import re

_NAMED = re.findall(
    "[A-Z0-9]+",
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP "
    "TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ",
)
_REALTIME = ["RTMIN", *(f"RTMIN+{n}" for n in range(1, 16)), *(f"RTMAX-{n}" for n in range(1, 15)), "RTMAX"]

LINUX_SIGNALS = tuple(sorted(f"SIG{name}" for name in (*_NAMED, *_REALTIME)))
WINDOWS_SIGNALS = ("SIGKILL", "SIGTERM")
