"""Pictures without a graphics card: what is near hides what is far, and things are where the camera should see them."""

import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.report.pictures.robot_scene import SIZE_PX, Camera, RobotScene

BALLS = """<mujoco><worldbody>
  <body pos="1 0 1"><joint type="slide" axis="0 0 1"/><geom type="sphere" size=".3" rgba="1 0 0 1"/></body>
  <body pos="-1 0 1"><geom type="sphere" size=".3" rgba="0 1 0 1"/></body>
</worldbody></mujoco>"""
CENTRE = (SIZE_PX[0] // 2, SIZE_PX[1] // 2)


def seen(azimuth_deg: float, qpos: float = 0.0, ghost: float | None = None) -> np.ndarray:
    """(height, width, 3) of two balls in a line, looked at from a height of one metre."""
    scene = RobotScene(mujoco.MjModel.from_xml_string(BALLS))
    camera = Camera(np.array([0.0, 0.0, 1.0]), 4.0, azimuth_deg, 0.0)
    return np.asarray(scene.draw(np.array([qpos]), camera, None if ghost is None else np.array([ghost])))


def test_the_nearer_ball_hides_the_farther():
    assert SIZE_PX[0] % 16 == SIZE_PX[1] % 16 == 0
    along_x, against_x = seen(0.0), seen(180.0)
    assert along_x[CENTRE[1], CENTRE[0]].argmax() == 1, "looking along +x the ball at −1 m is in front: green"
    assert against_x[CENTRE[1], CENTRE[0]].argmax() == 0


def test_perspective_puts_points_where_the_pinhole_does():
    camera = Camera(np.zeros(3), distance_m=4.0, azimuth_deg=90.0, elevation_deg=0.0, field_of_view_deg=90.0)
    pixels, depth = camera.project(np.array([[1.0, 0.0, 0.0], [0.0, 4.0, 2.0]]), (200, 100))
    np.testing.assert_allclose(depth, [4.0, 8.0])
    np.testing.assert_allclose(pixels, [[100 + 50 / 4, 50], [100, 50 - 50 * 2 / 8]])


def test_a_pose_moves_what_is_drawn_and_a_ghost_is_blue():
    up = seen(90.0, qpos=0.5)
    level = seen(90.0)
    red = [np.argwhere(image[..., 0].astype(int) - image[..., 2] > 100) for image in (level, up)]
    assert red[1][:, 0].mean() < red[0][:, 0].mean() - 20
    with_ghost = seen(90.0, ghost=0.9)
    changed = np.argwhere(np.abs(with_ghost.astype(int) - level).sum(axis=2) > 30)
    ghost = with_ghost[changed[:, 0], changed[:, 1]].astype(int)
    assert len(changed) > 200
    assert (ghost[:, 2] > ghost[:, 0]).mean() > 0.95


def test_a_robot_without_shapes_cannot_be_drawn():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body>"
        "</worldbody></mujoco>"
    )
    with pytest.raises(HaloidError, match="no shapes to draw"):
        RobotScene(model)
