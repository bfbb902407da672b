"""Identification: recordings in, parameters with error bars out. The package is called as `haloid.identify` is."""

import sys

from haloid import CallablePackage

sys.modules[__name__].__class__ = CallablePackage
