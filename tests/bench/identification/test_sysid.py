"""The comparison with mujoco.sysid at a small size, and mujoco.sysid itself on data that it must explain exactly."""

import sys

import numpy as np
import pytest

from haloid.bench.identification import mujoco_sysid, sysid
from haloid.bench.identification.sysid import Sysid
from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.errors import HaloidError
from haloid.identify.data.dataset import build_simulator, prepare
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors


def silent(_: str) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("hooks", [{}, {"write_arrays": True}, {"write_arrays": True, "in_radians": True}])
def test_mujoco_sysid_finds_the_truth_in_perfect_data_from_true_states(hooks):
    pytest.importorskip("mujoco.sysid")
    robot = LabRobot(loads=halo_setting(1))
    recording, truth = record(robot, Sensors(quantise=False), seed=1)
    simulator = build_simulator(recording, robot.timestep_s)
    dataset = prepare([recording], simulator, rows=20, fragments_per_recording=2, held_out_share=0.0)
    order = [recording.joint_names.index(joint) for joint in simulator.dof_joints]
    rows, playback = dataset.fragments.start_row, truth.playback
    states = np.concatenate([playback.q_rad[rows][:, order], playback.dq_rad_s[rows][:, order]], axis=1)
    found = mujoco_sysid.fit(recording, dataset.fragments, states, PAYLOAD_LINKS, **hooks)
    expected = [
        value for link in PAYLOAD_LINKS for value in (truth.links[link].mass_kg, *truth.links[link].com_in_link_m)
    ]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-5)
    assert found.finished
    assert found.iterations < 50


@pytest.mark.slow
def test_haloid_beats_mujoco_sysid_on_the_same_fragments():
    pytest.importorskip("mujoco.sysid")
    pytest.importorskip("cma")
    outcome = sysid.run(Sysid(fragments=4, rows=20, seeds=1), silent)
    assert outcome.headline.keys() == {"times_faster", "error_over_sysid", "times_faster_than_cma"}
    assert outcome.headline["error_over_sysid"] < 1
    assert outcome.headline["times_faster"] > 2
    assert outcome.headline["times_faster_than_cma"] > 20
    methods = [row["method"] for row in outcome.rows]
    assert methods[:3] == [sysid.HALOID, sysid.SHIPPED, sysid.SHIPPED_TRUE]
    assert "extrapolated" in methods[-1]
    assert all(len(row["errors"][0]) == 12 for row in outcome.rows[:-1])


def test_words_without_mujoco_sysid(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco.sysid", None)
    monkeypatch.delattr("mujoco.sysid", raising=False)
    with pytest.raises(HaloidError, match=r"^mujoco\.sysid cannot be used here .*pip install .*\[sysid\]'$"):
        mujoco_sysid.load_sysid()


def test_words_without_cma(monkeypatch):
    pytest.importorskip("mujoco.sysid")
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(HaloidError, match=r"needs the package cma: .*pip install .*\[search\]'$"):
        sysid.run(Sysid(), silent)
