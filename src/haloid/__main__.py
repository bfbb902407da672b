"""`python -m haloid` is the command `haloid`."""

import sys

from haloid.cli.main import main

sys.exit(main())
