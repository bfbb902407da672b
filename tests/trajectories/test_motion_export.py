from pathlib import Path

import numpy as np
from tests.recordings.double_support import noisy_run

from haloid.recordings.reconstruction.motion import reconstruct_motion
from haloid.trajectories.motion_export import write_motion


def test_the_file_has_mjlabs_keys_and_names(tmp_path: Path):
    run, _ = noisy_run()
    motion = reconstruct_motion(run).motion
    file = write_motion(motion, tmp_path / "new" / "wave")
    assert file == tmp_path / "new" / "wave.npz"
    with np.load(file, allow_pickle=False) as back:
        shapes = {key: back[key].shape for key in back}
        assert shapes == {
            "fps": (1,),
            "joint_pos": (500, 29),
            "joint_vel": (500, 29),
            "body_pos_w": (500, 30, 3),
            "body_quat_w": (500, 30, 4),
            "body_lin_vel_w": (500, 30, 3),
            "body_ang_vel_w": (500, 30, 3),
            "joint_names": (29,),
            "body_names": (30,),
        }
        assert back["fps"][0] == 50.0
        assert tuple(back["joint_names"]) == motion.joint_names
        assert tuple(back["body_names"]) == motion.body_names
        np.testing.assert_allclose(back["joint_pos"], motion.joint_pos_rad, atol=1e-6)
        np.testing.assert_allclose(back["joint_vel"], motion.joint_vel_rad_s, atol=1e-5)
        np.testing.assert_allclose(back["body_pos_w"], motion.body_pos_w_m, atol=1e-6)
        np.testing.assert_allclose(back["body_quat_w"], motion.body_quat_wxyz, atol=1e-6)
        np.testing.assert_allclose(back["body_lin_vel_w"], motion.body_lin_vel_w_m_s, atol=1e-5)
        np.testing.assert_allclose(back["body_ang_vel_w"], motion.body_ang_vel_w_rad_s, atol=1e-5)
    assert [one.name for one in file.parent.iterdir()] == ["wave.npz"]
