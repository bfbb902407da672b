"""Engines: what predicts a fragment and differentiates the prediction.

An engine is one module with a subclass of `Engine`, and its line in ENGINES.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haloid.engines.engine import Engine
    from haloid.engines.simulate import Simulator

ENGINES = {
    "analytic": "haloid.engines.analytic:AnalyticEngine",
    "finite-difference": "haloid.engines.finite_difference:FiniteDifferenceEngine",
    "mjx": "haloid.engines.mjx:MjxEngine",
}
"""Where each engine is: "MODULE:CLASS". Names are the choices of `haloid identify --engine`."""


def make_engine(name: str, simulator: Simulator) -> Engine:
    """The engine of this name for a simulator; its module is imported only now."""
    module, kind = ENGINES[name].split(":")
    return getattr(import_module(module), kind)(simulator)
