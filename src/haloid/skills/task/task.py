"""Skills, the task: which robot follows which motions, how it is driven and how much the robots differ.

In: a `TaskConfig`. Out: the environment and the action mode, ready for a learner. Feed-forward targets and the
controller are computed for the robot in the middle of what the batch is randomised to. The controller is the best of a
few in a trial on robots of the task: how feet tip depends on the motion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np
import torch

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.setting_limits import check_settings
from haloid.skills.asap.pretraining import pretraining_terms
from haloid.skills.controller.design import CLAMPED, DESIGNS, Design, searched
from haloid.skills.controller.tables import ControllerTables, Feedforward, controller_tables, feedforward
from haloid.skills.evaluation.metrics import FAILURE_M
from haloid.skills.feasibility.check import warn_of_infeasible
from haloid.skills.policies.actions import (
    ActionMode,
    Actions,
    ControllerActions,
    FeedforwardActions,
    MjlabActions,
    controller_action_tables,
    feedforward_tables,
)
from haloid.skills.task.clamped import STILL_M, Clamp, clamp_of_motion
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.environment import STEP_S, EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISATIONS, RandomisationName, middle_of
from haloid.skills.task.reference import Reference, reference_of
from haloid.skills.task.rewards import WEIGHTS
from haloid.skills.task.robot import TrackedRobot, robot_of_model, tracked_robot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.terms import Terms, tracking_terms
from haloid.skills.task.transforms import Transform, delayed_by
from haloid.skills.training.trial import GENTLE, MEASURED_TIMESTEP_S, ROBOTS, Trial, try_out
from haloid.trajectories.motion import Motion
from haloid.trajectories.mujoco_states import ModelStates, states_of

FEEDFORWARD_ACTION_RATE = -0.01
"""A tenth of mjlab's weight: feed-forward targets change quickly by themselves."""
FEEDFORWARD_ROOT_POS = 2.0
"""Four times mjlab's weight. A robot that steps after a push and does not see its place drifts away: of 160 runs under
all of mjlab's pushes none fell, and 76 ended more than half a metre from the reference."""
SEARCHED = Difficulty(reset=GENTLE.reset, push=0.0, randomisation=1.0)
"""For the search of a controller's design: robots that differ by all of Table I. Pushes stay out: a controller that
follows a timetable of steps survives none of mjlab's, whatever its weights."""
SEARCH_ROBOTS = 96

_LIMITS = {
    "noise": (0.0, 100.0),
    "delay_s": (0.0, 1.0),
    "history": (1, 100),
    "search": (0, 100_000),
    "robots": (1, 1_000_000),
    "substeps": (1, 20),
    "seed": (0, 2**32 - 1),
    "threads": (0, 10_000),
}


Preset = Literal["mjlab", "asap"]


@dataclass(frozen=True)
class TaskConfig:
    motions: tuple[str, ...]
    """Names of own motions, or files."""
    model: str = DEFAULT_ROBOT
    """A known robot, a model file such as calibrated.xml, or a patch.json."""
    preset: Preset = "mjlab"
    """What a policy sees, its rewards, the ends of episodes and the curriculum: mjlab's, or ASAP's pre-training's."""
    actions: ActionMode = "feedforward"
    randomisation: RandomisationName = "nominal"
    clamp: str | None = None
    """A foot that is held fixed where the motion has it, as for exploration (HALO III-A)."""
    noise: float = 1.0
    """Of the observations, as a fraction of mjlab's."""
    delay_s: float = 0.0
    """From a policy's targets to the servos, in whole physics steps."""
    state_estimation: bool = False
    history: int = 3
    """Readings of its sensors that a policy on feed-forward targets or of ASAP's preset sees; in others it is one."""
    search: int = 0
    """Designs of the controller that are tried beside the usual ones, on robots of the whole randomisation."""
    learn_arms: bool = False
    """Let the network correct the arms too; legs and waist are enough for balance and learn faster."""
    robots: int = 192
    substeps: int = 3
    """Physics steps in a control step of 20 ms. Policies are measured with 4, mjlab's; 3 are faster."""
    repair: bool = False
    """Put soles flat and on the ground before training, for clips from elsewhere."""
    seed: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)
        if self.search and (self.actions != "controller" or self.clamp is not None):
            raise HaloidError(
                "a search is for designs of the controller of a robot on its feet. Expected --actions controller and "
                f"no clamp; found actions {self.actions}, clamp {self.clamp}"
            )
        if self.preset == "asap" and (len(self.motions) != 1 or self.state_estimation or self.actions == "controller"):
            raise HaloidError(
                "ASAP's policy learns one motion, of which it sees the phase, and does not know where it is. Expected "
                f"one motion, no state estimation and no controller; found {', '.join(self.motions)}, state "
                f"estimation {self.state_estimation}, actions {self.actions}"
            )

    @property
    def phase(self) -> bool:
        """Whether all that a policy sees of its motion is the phase."""
        return self.preset == "asap"

    @property
    def readings(self) -> int:
        return self.history if self.actions == "feedforward" or self.preset == "asap" else 1


@dataclass(frozen=True)
class Task:
    robot: TrackedRobot
    reference: Reference
    environment: TrackingEnvironment
    actions: Actions


def build_task(
    config: TaskConfig,
    transforms: tuple[Transform, ...] = (),
    simulate: Simulate = Simulation,
    tell: Callable[[str], None] = lambda _: None,
) -> Task:
    """`transforms` come before the task's own delay; `simulate` is what moves the robots; `tell` hears of a search."""
    motions = [
        load_motion(source, robot=robot_of_model(config.model), repaired=config.repair) for source in config.motions
    ]
    robot = tracked_robot(config.model, timestep_s=STEP_S / config.substeps, clamp=_clamp(config, motions))
    reference = reference_of(robot, motions, [Path(source).stem for source in config.motions])
    tables = _tables(config, robot, motions, tell)
    followed = [table.reference for table in tables] or [
        states_of(robot.model, motion.trajectory) for motion in motions
    ]
    for source, states in zip(config.motions, followed, strict=True):
        warn_of_infeasible(robot.model, robot.description, states, source)
    settings = _environment_config(config)
    settings = replace(settings, transforms=(*transforms, *settings.transforms))
    environment = TrackingEnvironment(robot, reference, settings, _starts(tables), _terms(config, robot), simulate)
    return Task(robot, reference, environment, _actions(config, robot, reference, tables))


def _terms(config: TaskConfig, robot: TrackedRobot) -> Terms:
    if config.preset == "asap":
        return pretraining_terms(robot)
    drift_m = FAILURE_M if config.actions == "feedforward" else None
    return tracking_terms(robot, reward_weights(config), drift_m)


def actions_of(config: TaskConfig, reference: Reference, motions: list[Motion]) -> Actions:
    """The action mode of a task, with the targets and gains of its training model."""
    robot = tracked_robot(config.model, timestep_s=STEP_S / config.substeps, clamp=_clamp(config, motions))
    return _actions(config, robot, reference, _tables(config, robot, motions))


def _environment_config(config: TaskConfig) -> EnvironmentConfig:
    return EnvironmentConfig(
        robots=config.robots,
        seed=config.seed,
        threads=config.threads,
        state_estimation=config.state_estimation,
        phase=config.phase,
        history=config.readings,
        adaptive_sampling=config.preset != "asap",
        randomisation=RANDOMISATIONS[config.randomisation],
        transforms=delayed_by(config.delay_s),
    )


def _tables(
    config: TaskConfig, robot: TrackedRobot, motions: list[Motion], tell: Callable[[str], None] = lambda _: None
) -> Sequence[Feedforward]:
    """One for each motion, with gains in the controller's mode; none in mjlab's."""
    if config.actions == "mjlab":
        return []
    exact = tracked_robot(config.model, timestep_s=MEASURED_TIMESTEP_S, clamp=robot.clamp)
    model = middle_of(exact, RANDOMISATIONS[config.randomisation])
    if config.actions == "feedforward":
        return [feedforward(model, robot.description, motion) for motion in motions]
    if robot.clamp is not None:
        return [_designed(model, robot, motion, CLAMPED) for motion in motions]
    return [_best_controller(config, robot, model, motion, tell) for motion in motions]


def _designed(model: mujoco.MjModel, robot: TrackedRobot, motion: Motion, design: Design) -> ControllerTables:
    return controller_tables(model, robot.description, motion, design.weights, design.assumed)


def _best_controller(
    config: TaskConfig, robot: TrackedRobot, model: mujoco.MjModel, motion: Motion, tell: Callable[[str], None]
) -> ControllerTables:
    """Of the usual designs the first that never falls, or the best; and of as many others as are to be searched."""
    reference = reference_of(robot, [motion], ["motion"])

    def tried(design: Design, difficulty: Difficulty, robots: int) -> Trial:
        tables = _designed(model, robot, motion, design)
        actions, settings = _actions(config, robot, reference, [tables]), _environment_config(config)
        silent = torch.zeros(robots, actions.outputs)
        hardest = replace(difficulty, noise=config.noise)
        return try_out(robot, reference, settings, _starts([tables]), hardest, actions, lambda _: silent, robots)

    def score(design: Design) -> float:
        try:
            return tried(design, SEARCHED, SEARCH_ROBOTS).score
        except np.linalg.LinAlgError:  # the recursion did not converge
            return -np.inf

    best, best_score = DESIGNS[0], -np.inf
    for design in DESIGNS:
        found = tried(design, GENTLE, ROBOTS)
        if found.score > best_score:
            best, best_score = design, found.score
        if found.success == 1.0:
            break
    if config.search:
        best = searched(best, score, config.search, config.seed, tell)
    return _designed(model, robot, motion, best)


def _starts(tables: Sequence[Feedforward]) -> ModelStates | None:
    """A load may ask for another pose than the reference's; started in that, a robot on one leg would fall at once."""
    if not tables:
        return None
    return ModelStates(
        step_s=STEP_S,
        qpos=np.concatenate([table.reference.qpos for table in tables]),
        qvel=np.concatenate([table.reference.qvel for table in tables]),
    )


def _actions(config: TaskConfig, robot: TrackedRobot, reference: Reference, tables: Sequence[Feedforward]) -> Actions:
    joints = len(robot.joint_names)
    if config.actions == "mjlab":
        return MjlabActions(joints)
    target_rad = np.concatenate([table.target_rad for table in tables])
    if config.actions == "feedforward":
        arms = {joint for arm in robot.description.arms.values() for joint in arm}
        learned = [name for name in robot.joint_names if config.learn_arms or name not in arms]
        return FeedforwardActions(feedforward_tables(robot, target_rad, learned))
    controllers = [table for table in tables if isinstance(table, ControllerTables)]
    gain = np.concatenate([table.gain for table in controllers])
    last_target_rad = np.concatenate([table.last_target_rad for table in controllers])
    rows = controller_action_tables(robot, reference, target_rad, gain, last_target_rad)
    return ControllerActions(rows, joints, config.state_estimation)


def reward_weights(config: TaskConfig) -> dict[str, float]:
    """By term, in either back end."""
    if config.actions == "mjlab":
        return dict(WEIGHTS)
    return {**WEIGHTS, "action_rate_l2": FEEDFORWARD_ACTION_RATE, "motion_global_root_pos": FEEDFORWARD_ROOT_POS}


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
