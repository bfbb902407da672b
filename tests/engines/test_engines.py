"""The registry of engines: every name makes its engine."""

import pytest
from tests.engines.scenes import tree_scene

from haloid.engines import ENGINES, make_engine


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "mjx"])
def test_every_name_makes_its_engine(name):
    assert make_engine(name, tree_scene(0).simulator).name == name
