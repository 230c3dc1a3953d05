"""What the kernel still holds of what was written to a socket."""

from __future__ import annotations

import array
import sys

if sys.platform == "linux":
    import fcntl
    import termios

    def unacknowledged(fd: int) -> int:
        """Bytes that the other end of a connected socket has not taken; 0 where the system does not tell."""
        found = array.array("i", [0])
        try:
            fcntl.ioctl(fd, termios.TIOCOUTQ, found)
        except (OSError, ValueError):  # the latter when it was closed a moment ago
            return 0
        return found[0]

else:

    def unacknowledged(fd: int) -> int:
        """Bytes that the other end of a connected socket has not taken; 0 where the system does not tell."""
        return 0
