import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.robots.clamp import clamp
from haloid.robots.floor import FLOOR, add_floor, other_foot
from haloid.robots.load import load_spec

LEFT, RIGHT = "left_ankle_roll_link", "right_ankle_roll_link"


@pytest.mark.parametrize(("held", "free"), [(LEFT, RIGHT), (RIGHT, LEFT)])
def test_only_the_free_foot_touches_the_floor(held, free):
    spec = clamp(load_spec("g1"), held)
    add_floor(spec, held)
    model = spec.compile()
    data = mujoco.MjData(model)
    model.geom(FLOOR).pos[2] += 0.001
    mujoco.mj_forward(model, data)
    touching = {tuple(sorted(model.body(int(b)).name for b in model.geom_bodyid[pair])) for pair in data.contact.geom}
    assert touching == {tuple(sorted((free, "world")))}
    assert np.abs(data.contact.dist + 0.001).max() < 1e-4


def test_the_other_foot_is_on_the_other_side():
    assert other_foot(LEFT) == RIGHT
    assert other_foot(RIGHT) == LEFT
    with pytest.raises(HaloidError, match=r"the clamp is 'pelvis'\. Clamp a left or right foot"):
        other_foot("pelvis")
