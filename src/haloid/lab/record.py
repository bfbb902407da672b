"""Recording the lab robot: robot, sensors and excitation in; what a real robot's log would hold, and the truth, out.

>>> robot = LabRobot(loads=halo_setting(1), aging=Aging(seed=3))  # doctest: +SKIP
>>> recording, truth = record(robot, Sensors(noise_rad=0.0005), seed=1)  # doctest: +SKIP
"""

from dataclasses import replace
from pathlib import Path

from haloid.lab.closed_loop import Policy, play_policy
from haloid.lab.collisions import self_collisions
from haloid.lab.dynamics import LabDynamics
from haloid.lab.excitation import Excitation, Reference, multi_sine
from haloid.lab.play import Simulate, in_mujoco, play
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors, read
from haloid.lab.truth import Truth, truth_of
from haloid.recordings.recording import Recording
from haloid.robots.entries import KNOWN_ROBOTS

_IDEAL_SENSORS = Sensors()
_DEFAULT_EXCITATION = Excitation()
_QUIETEST_ARM_RAD = 0.1
"""Arms that touch even at this amplitude do so for another reason."""


def record(
    robot: LabRobot,
    sensors: Sensors = _IDEAL_SENSORS,
    excitation: Excitation | Reference | Policy = _DEFAULT_EXCITATION,
    *,
    seed: int = 0,
    name: str = "run",
    simulate: Simulate = in_mujoco,
) -> tuple[Recording, Truth]:
    """One run of the lab robot; `seed` decides its multi-sine and its noise, and nothing about the robot itself.

    Any `Reference` in the robot's joint order and at its control period may be played instead of a multi-sine, or a
    `Policy` may follow one in closed loop; the seed then decides the noise alone. `simulate` is what moves a robot that
    plays a reference; a policy is played in MuJoCo.
    """
    built = robot.built
    if isinstance(excitation, Policy):
        reference, playback = excitation.motion, play_policy(robot, excitation, sensors, seed)
    else:
        reference = excitation if isinstance(excitation, Reference) else design(robot, excitation, seed)
        playback = play(robot, reference, sensors, simulate)
    readings = read(sensors, playback.q_rad, playback.dq_rad_s, seed)
    recording = Recording(
        name=name,
        robot=robot.robot if robot.robot in KNOWN_ROBOTS else str(Path(robot.robot).resolve()),
        clamp=robot.clamp,
        joint_names=built.joint_names,
        time_s=reference.time_s[readings.row],
        q_rad=readings.q_rad,
        target_rad=playback.target_rad[readings.row],
        kp=built.kp,
        kd=built.kd,
        dq_rad_s=readings.dq_rad_s,
        support=robot.support,
        payload="unknown" if robot.loads else "none",
        note="simulated lab robot",
    )
    return recording, truth_of(robot, sensors, playback, seed)


def design(robot: LabRobot, excitation: Excitation, seed: int) -> Reference:
    """A multi-sine for the robot as it stands, its arms quieter where it would touch itself.

    In double support the legs only carry.
    """
    built, torque_of = robot.built, LabDynamics(robot.built).torque
    if robot.support == "double":
        excitation = replace(excitation, leg_amplitude_rad=0.0)
    while True:
        reference = multi_sine(
            excitation,
            built.joint_names,
            built.limbs,
            robot.posture_rad,
            built.limits,
            torque_of,
            robot.control_dt_s,
            seed,
        )
        arm_rad = excitation.arm_amplitude_rad
        if arm_rad < _QUIETEST_ARM_RAD or not self_collisions(built, reference.q_rad):
            return reference
        excitation = replace(excitation, arm_amplitude_rad=0.8 * arm_rad)
