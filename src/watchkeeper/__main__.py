"""`python -m watchkeeper` is the command `watchkeeper`."""

import sys

from watchkeeper.server.cli import main

sys.exit(main())
