"""Skills, the task: which robot follows which motions, how it is driven and how much the robots differ.

In: a `TaskConfig`. Out: the environment and the action mode, ready for a learner. The controller of the feedforward
mode is computed for the robot in the middle of what the batch is randomised to, and is the best of a few in a trial on
robots of the task: how feet tip depends on the motion.
"""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.recordings.motion import Motion
from haloid.skills.actions import ActionMode, Actions, FeedforwardActions, MjlabActions, feedforward_tables
from haloid.skills.clamped import STILL_M, Clamp, clamp_of_motion
from haloid.skills.controller.estimate import Noise
from haloid.skills.controller.linear_feedback import FeedbackWeights
from haloid.skills.controller.tables import ControllerTables, controller_tables
from haloid.skills.environment import STEP_S, EnvironmentConfig, Starts, TrackingEnvironment
from haloid.skills.randomisation import RANDOMISATIONS, RandomisationName, middle_of
from haloid.skills.reference import Reference, reference_of
from haloid.skills.rewards import WEIGHTS
from haloid.skills.robot import TrackedRobot, tracked_robot
from haloid.skills.trial import MEASURED_TIMESTEP_S, ROBOTS, try_out

FEEDFORWARD_ACTION_RATE = -0.01
"""A tenth of mjlab's weight: quick changes of the action are the controller's feedback, not to be unlearned."""
CLAMPED_WEIGHTS = FeedbackWeights(torque_of_limit=0.2)
"""A foot that cannot tip lets the feedback be stiffer, and unknown loads ask for it."""
CONTROLLERS = (
    (FeedbackWeights(), Noise()),
    (FeedbackWeights(), Noise(tip_return=0.15)),
    (FeedbackWeights(), Noise(tip_rad=0.01)),
    (FeedbackWeights(com_m=0.016, com_vel_m_s=0.18), Noise(tip_return=0.5)),
)
"""What is tried: assumptions about feet, and a gentler one for jumps; the first that never falls is taken."""


@dataclass(frozen=True)
class TaskConfig:
    motions: tuple[str, ...]
    """Names of own motions, or files."""
    model: str = "g1"
    """A known robot, a model file such as calibrated.xml, or a patch.json."""
    actions: ActionMode = "feedforward"
    randomisation: RandomisationName = "nominal"
    clamp: str | None = None
    """A foot that is held fixed where the motion has it, as for exploration (HALO III-A)."""
    noise: float = 1.0
    """Of the observations, as a part of mjlab's."""
    delay_s: float = 0.0
    """From a policy's targets to the servos, in whole physics steps."""
    state_estimation: bool = False
    learn_arms: bool = False
    """Let the network correct the arms too; legs and waist are enough for balance and learn faster."""
    robots: int = 512
    substeps: int = 3
    """Physics steps in a control step of 20 ms. Policies are measured with 4, mjlab's; 3 are faster."""
    repair: bool = False
    """Put soles flat and on the ground before training, for clips of other people."""
    seed: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Task:
    robot: TrackedRobot
    reference: Reference
    environment: TrackingEnvironment
    actions: Actions


def build_task(config: TaskConfig) -> Task:
    if not 1 <= config.substeps <= 20:
        raise HaloidError(f"{config.substeps} physics steps in a control step; expected 3, 4, or a few more")
    motions = [load_motion(source, repaired=config.repair) for source in config.motions]
    robot = tracked_robot(config.model, timestep_s=STEP_S / config.substeps, clamp=_clamp(config, motions))
    reference = reference_of(robot, motions, [Path(source).stem for source in config.motions])
    tables = _controllers(config, robot, motions)
    environment = TrackingEnvironment(robot, reference, _environment_config(config), _starts(tables))
    return Task(robot, reference, environment, _actions(config, robot, reference, tables))


def actions_of(config: TaskConfig, reference: Reference, motions: list[Motion]) -> Actions:
    """The action mode of a task; the feedforward one with the controller of its training model."""
    robot = tracked_robot(config.model, timestep_s=STEP_S / config.substeps, clamp=_clamp(config, motions))
    return _actions(config, robot, reference, _controllers(config, robot, motions))


def _environment_config(config: TaskConfig) -> EnvironmentConfig:
    return EnvironmentConfig(
        robots=config.robots,
        seed=config.seed,
        threads=config.threads,
        state_estimation=config.state_estimation,
        randomisation=RANDOMISATIONS[config.randomisation],
        delay_s=config.delay_s,
        action_rate_weight=action_rate_weight(config),
    )


def _controllers(config: TaskConfig, robot: TrackedRobot, motions: list[Motion]) -> list[ControllerTables]:
    """One for each motion; none in mjlab's mode."""
    if config.actions == "mjlab":
        return []
    exact = tracked_robot(config.model, timestep_s=MEASURED_TIMESTEP_S, clamp=robot.clamp)
    model = middle_of(exact, RANDOMISATIONS[config.randomisation])
    if robot.clamp is not None:
        return [controller_tables(model, motion, CLAMPED_WEIGHTS) for motion in motions]
    return [_best_controller(config, robot, model, motion) for motion in motions]


def _best_controller(
    config: TaskConfig, robot: TrackedRobot, model: mujoco.MjModel, motion: Motion
) -> ControllerTables:
    reference = reference_of(robot, [motion], ["motion"])
    best, best_score = None, -np.inf
    for weights, assumed in CONTROLLERS:
        tables = controller_tables(model, motion, weights, assumed)
        actions = _actions(config, robot, reference, [tables])
        starts, silent = _starts([tables]), torch.zeros(ROBOTS, actions.outputs)
        found = try_out(
            robot, reference, _environment_config(config), starts, config.noise, actions, lambda _, zero=silent: zero
        )
        if best is None or found.score > best_score:
            best, best_score = tables, found.score
        if found.success == 1.0:
            break
    assert best is not None
    return best


def _starts(tables: list[ControllerTables]) -> Starts | None:
    """A load may ask for another pose than the reference's; started in that, a robot on one leg would fall at once."""
    if not tables:
        return None
    return Starts(
        qpos=np.concatenate([table.reference.qpos for table in tables]),
        qvel=np.concatenate([table.reference.qvel for table in tables]),
    )


def _actions(config: TaskConfig, robot: TrackedRobot, reference: Reference, tables: list[ControllerTables]) -> Actions:
    joints = len(robot.joint_names)
    if config.actions == "mjlab":
        return MjlabActions(joints)
    learned = [name for name in robot.joint_names if config.learn_arms or not _is_arm(name)]
    return FeedforwardActions(
        feedforward_tables(
            robot,
            reference,
            target_rad=np.concatenate([table.target_rad for table in tables]),
            gain=np.concatenate([table.gain for table in tables]),
            last_target_rad=np.concatenate([table.last_target_rad for table in tables]),
            learned_joints=learned,
        ),
        joints,
        config.state_estimation,
    )


def action_rate_weight(config: TaskConfig) -> float:
    """Of the reward term of that name, in either back end."""
    return FEEDFORWARD_ACTION_RATE if config.actions == "feedforward" else WEIGHTS["action_rate_l2"]


def _clamp(config: TaskConfig, motions: list[Motion]) -> Clamp | None:
    """Where the motions have the foot that is to be clamped; all of them must have it there."""
    if config.clamp is None:
        return None
    clamps = [clamp_of_motion(config.clamp, motion) for motion in motions]
    apart_m = max(float(np.linalg.norm(clamp.pos_w_m - clamps[0].pos_w_m)) for clamp in clamps)
    if apart_m > STILL_M:
        raise HaloidError(
            f"{config.clamp} is to be clamped and the motions have it in places {apart_m:.3g} m apart; "
            "train a policy for each"
        )
    return clamps[0]


def _is_arm(joint: str) -> bool:
    return any(part in joint for part in ("shoulder", "elbow", "wrist"))
