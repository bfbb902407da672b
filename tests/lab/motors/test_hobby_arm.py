"""The simulated SO-101: its log tells what a real one's would, and its servos hold it up as springs do."""

import numpy as np

from haloid.lab.motors.hobby_arm import ENCODER_STEP_RAD, record_arm, worn_arm
from haloid.robots.load import load_spec
from haloid.robots.patch import patched_spec


def test_the_log_tells_nothing_of_the_true_servos():
    arm = worn_arm(3)
    slow, quick = record_arm(arm, 3, 2)
    assert (slow.name, quick.name) == ("run-1", "run-2")
    assert slow.kp is not None and slow.target_rad is not None and quick.target_rad is not None
    np.testing.assert_allclose(slow.kp, 998.22)
    assert max(servo["kp"] for servo in arm.joints.values()) < 20
    steps = slow.q_rad / ENCODER_STEP_RAD
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    speed = [np.abs(np.diff(run.target_rad, axis=0)).max() for run in (slow, quick)]
    assert speed[1] > 2 * speed[0]
    np.testing.assert_array_equal(record_arm(arm, 3, 1)[0].q_rad, slow.q_rad)


def test_at_rest_a_servo_sags_by_its_load_over_its_gain():
    """Statics by hand: kp·(target − q) holds the arm's weight, but for what dry friction carries."""
    import mujoco

    arm = worn_arm(0)
    (run,) = record_arm(arm, 0, 1)
    model = patched_spec(lambda: load_spec("so101"), arm).compile()
    data = mujoco.MjData(model)
    data.qpos[:] = run.q_rad[0]
    mujoco.mj_forward(model, data)
    assert run.target_rad is not None
    for j, name in enumerate(run.joint_names):
        servo, weight_nm = arm.joints[name], data.qfrc_bias[model.joint(name).dofadr[0]]
        spring_nm = servo["kp"] * (run.target_rad[0, j] - run.q_rad[0, j])
        assert abs(spring_nm - weight_nm) <= servo["frictionloss"] + servo["kp"] * ENCODER_STEP_RAD
    lift = run.joint_names.index("shoulder_lift")
    assert abs(run.target_rad[0, lift] - run.q_rad[0, lift]) > 10 * ENCODER_STEP_RAD
