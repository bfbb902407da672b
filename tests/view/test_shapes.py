"""Shapes as triangles: closed, turned outwards, of the right size and in the right place."""

import mujoco
import numpy as np
import pytest

from haloid.report.pictures.loads import Ellipsoid
from haloid.robots.load import load_spec
from haloid.view.shapes import Triangles, body_shapes, ellipsoid_triangles

SHAPES = """<mujoco><worldbody><body name="a">
  <geom type="box" size=".1 .2 .3" pos="1 2 3" euler="30 40 50"/>
  <geom type="sphere" size=".2"/>
  <geom type="capsule" size=".1 .2"/>
  <geom type="cylinder" size=".1 .2"/>
  <geom type="ellipsoid" size=".1 .2 .3"/>
</body></worldbody></mujoco>"""
VOLUMES_M3 = [0.048, 0.03351, 4 / 3 * np.pi * 1e-3 + 0.4 * np.pi * 1e-2, 0.4 * np.pi * 1e-2, 4 / 3 * np.pi * 6e-3]


def volume_m3(shape: Triangles) -> float:
    """By the divergence theorem: right, and positive, only if the surface is closed and turned outwards."""
    a, b, c = shape.vertices_m[shape.faces].transpose(1, 0, 2)
    return float(np.einsum("fi,fi->f", a, np.cross(b, c)).sum() / 6)


def test_every_kind_of_shape_has_its_volume():
    (shapes,) = body_shapes(mujoco.MjModel.from_xml_string(SHAPES)).values()
    volumes = [volume_m3(shape) for shape in shapes]
    assert volumes[0] == pytest.approx(VOLUMES_M3[0])
    np.testing.assert_allclose(volumes, VOLUMES_M3, rtol=0.06)  # 20 facets around are a little less than round
    np.testing.assert_allclose(shapes[0].vertices_m.mean(axis=0), [1, 2, 3])


def test_the_g1_has_shapes_on_its_links_and_none_for_collisions_only():
    model = load_spec("g1").compile()
    shapes = body_shapes(model)
    assert {model.body(body).name for body in shapes} >= {"pelvis", "torso_link", "left_knee_link"}
    assert sum(map(len, shapes.values())) == int(np.sum(model.geom_group == 2))


def test_an_ellipsoid_is_where_it_is_and_turned():
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    shape = ellipsoid_triangles(Ellipsoid(np.array([1.0, 0, 0]), np.array([0.3, 0.1, 0.2]), turned), (1, 2, 3))
    extent = np.ptp(shape.vertices_m, axis=0) / 2
    np.testing.assert_allclose(extent, [0.1, 0.3, 0.2], atol=1e-9)
    assert volume_m3(shape) == pytest.approx(4 / 3 * np.pi * 6e-3, rel=0.06)
