"""A pendulum on a fixed base, small enough to compute by hand."""

from pathlib import Path

import pytest

PENDULUM = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="rod">
      <inertial mass="2" pos="0.3 0 0" diaginertia="0.02 0.02 0.02"/>
      <joint name="hinge" axis="0 1 0" range="-2 2" armature="0.05" damping="0.4" actuatorfrcrange="-12 12"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def pendulum(tmp_path: Path) -> str:
    """The path of the pendulum's file."""
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    return str(path)
