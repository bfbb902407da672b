"""Skills: motion-tracking policies on the identified model."""

import os

os.environ.setdefault("GOMP_SPINCOUNT", "30000")
"""Torch's threads spin for milliseconds when they have nothing to do, on the cores that MuJoCo's need next. This makes
them sleep after a tenth of that; it must be set before torch is loaded."""
