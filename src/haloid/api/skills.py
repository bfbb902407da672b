"""`haloid.train`, `haloid.evaluate` and `haloid.load_policy`: policies that make a robot follow a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haloid.api.models import Model, load_robot, robot_of
from haloid.api.payloads import PayloadOnRobot, loads_of
from haloid.api.result import Result
from haloid.extras import require_extra
from haloid.lab.loads import put_on
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.files.write_mjcf import write_mjcf

if TYPE_CHECKING:
    from haloid.skills.evaluation.evaluate import Evaluation
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.task.clamped import Clamp
    from haloid.skills.task.randomisation import RandomisationName
    from haloid.skills.task.robot import TrackedRobot
    from haloid.skills.training.learning import Iteration

MODEL_FILE = "model.xml"
"""The file in which a training keeps the `Result` it was given."""


def train(
    motion: str | Path | Sequence[str | Path],
    *,
    model: Model = DEFAULT_ROBOT,
    out: str | Path | None = None,
    minutes: float | None = None,
    iterations: int = 2000,
    until: float | None = None,
    preset: Literal["mjlab", "asap"] = "mjlab",
    actions: Literal["feedforward", "controller", "mjlab"] = "feedforward",
    randomisation: RandomisationName = "nominal",
    clamp: str | None = None,
    difficulty: float = 1.0,
    noise: float = 1.0,
    delay_s: float = 0.0,
    state_estimation: bool = False,
    history: int = 3,
    search: int = 0,
    learn_arms: bool = False,
    repair: bool = False,
    warm_start: str | Path | None = None,
    robots: int = 192,
    substeps: int = 3,
    seed: int = 0,
    checkpoint_every: int = 50,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
) -> DeployedPolicy:
    """Train a policy that makes a robot follow a motion, on the CPU; needs `pip install 'haloid[learn]'`.

    The settings are those of `haloid train`, whose `--help` explains each.

    Args:
        motion: one of haloid's own by name (`haloid motions list`), or a file; several: one policy learns them all.
        model: the robot to train on, such as the `Result` of an identification.
        out: folder to write to; by default out/MOTION, or out/MOTION-2 and so on where that is taken.
        minutes: stop after this long, with the best policy so far.
        until: stop as soon as this share of a trial's robots succeeds.
        search: with actions="controller": how many more designs are tried on robots of the whole randomisation.
        preset: "asap" with actions="mjlab", randomisation="asap" and history=5 is `haloid train --preset asap`.
        on_iteration: called after every iteration.

    Examples:
        >>> policy = haloid.train("clips/stand.npz", model=haloid.load_result("out/result"), iterations=1, robots=4)
        >>> policy.path.name, policy.facts.motions
        ('policy.onnx', ('stand',))
    """
    _require("train", "torch", "rsl_rl", "mjbatch", "tensorboard", "onnx", "onnxruntime")
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.task.task import TaskConfig
    from haloid.skills.training import run_folder
    from haloid.skills.training.learning import TrainingConfig

    motions = tuple(map(str, [motion] if isinstance(motion, str | Path) else motion))
    folder = _free_folder(motions) if out is None else Path(out)
    config = TrainingConfig(
        task=TaskConfig(
            motions=motions,
            model=_model_name(model, folder),
            preset=preset,
            actions=actions,
            randomisation=randomisation,
            clamp=clamp,
            noise=noise,
            delay_s=delay_s,
            state_estimation=state_estimation,
            history=history,
            search=search,
            learn_arms=learn_arms,
            robots=robots,
            substeps=substeps,
            repair=repair,
            seed=seed,
        ),
        iterations=iterations,
        until=until,
        difficulty=difficulty,
        checkpoint_every=checkpoint_every,
    )
    run_folder.refuse_training(folder)
    kept = folder / MODEL_FILE if isinstance(model, Result) else None
    if kept is not None:
        write_mjcf(load_robot(model), kept)
    try:
        outcome = run_folder.train(
            config,
            folder,
            minutes=minutes,
            warm_start=None if warm_start is None else Path(warm_start),
            on_iteration=on_iteration,
        )
    except BaseException:
        if kept is not None and not (folder / "checkpoint.pt").exists():
            kept.unlink(missing_ok=True)
            folder.rmdir()
        raise
    return DeployedPolicy(run_folder.finish(outcome))


def _model_name(model: Model, folder: Path) -> str:
    """A training is given its model by name; a result's is kept in the training's folder."""
    if isinstance(model, Result):
        return str(folder / MODEL_FILE)
    return str(Path(model) / "calibrated.xml" if Path(model).is_dir() else model)


def _free_folder(motions: Sequence[str]) -> Path:
    name = "-".join(Path(motion).stem for motion in motions) or "motion"
    folder, number = Path("out") / name, 1
    while folder.exists():
        number += 1
        folder = Path("out") / f"{name}-{number}"
    return folder


def load_policy(path: str | Path) -> DeployedPolicy:
    """A policy, ready to run: a policy.onnx from haloid or mjlab, a policy.pt, or the folder of a training.

    Examples:
        >>> policy = haloid.load_policy("out/stand")
        >>> len(policy.facts.joint_names), policy.facts.motions
        (29, ('stand',))
    """
    _require("load_policy", "onnx", "onnxruntime")
    from haloid.skills.policies.open_policy import open_policy

    return open_policy(Path(path))


def evaluate(
    policy: DeployedPolicy | str | Path,
    *,
    model: Model = DEFAULT_ROBOT,
    payload: PayloadOnRobot = None,
    motion: str | None = None,
    starts: int = 100,
    start_from: Literal["beginning", "random"] = "beginning",
    disturbance: float = 0.1,
    noise: float = 1.0,
    push: float = 0.0,
    delay_s: float = 0.0,
    randomisation: RandomisationName = "none",
    simulator: Literal["mujoco", "genesis"] = "mujoco",
    seed: int = 0,
    threads: int = 0,
) -> Evaluation:
    """Run a policy's ONNX file on many robots at once and measure how well it follows its motion.

    The settings are those of `haloid evaluate`, whose `--help` explains each.

    Args:
        policy: what `haloid.train` or `haloid.load_policy` gave, or a path that the latter takes.
        model: the robot it is measured on, such as the `Result` of an identification.
        payload: what is put on that robot: HALO's Perturbation Setting 1, 2 or 3, or mass (kg) and centre of mass in
            the link's frame (m) by link, or the `payload` of a `Result`.
        simulator: what moves the robots; genesis is another simulator, which `make genesis` sets up.

    Examples:
        >>> measured = haloid.evaluate("out/stand", payload={"torso_link": (1.0, (0.0, 0.0, 0.2))}, starts=2)
        >>> measured.success_rate
        1.0
    """
    _require("evaluate", "onnx", "onnxruntime", "mjbatch")
    from haloid.skills.evaluation.evaluate import EvaluationConfig
    from haloid.skills.evaluation.evaluate import evaluate as measure
    from haloid.skills.evaluation.genesis import Genesis, check_genesis
    from haloid.skills.policies.deployed import DeployedPolicy

    config = EvaluationConfig(
        starts=starts,
        seed=seed,
        motion=motion,
        start_from=start_from,
        disturbance=disturbance,
        noise=noise,
        push=push,
        delay_s=delay_s,
        randomisation=randomisation,
        threads=threads,
    )
    deployed = policy if isinstance(policy, DeployedPolicy) else load_policy(policy)
    robot = robot_to_measure(model, payload, deployed)
    if simulator == "mujoco":
        return measure(deployed, robot, config)
    check_genesis(randomisation)
    with Genesis() as genesis:
        return measure(deployed, robot, config, simulate=genesis)


def robot_to_measure(
    model: Model, payload: PayloadOnRobot, policy: DeployedPolicy, *, for_pictures: bool = False
) -> TrackedRobot:
    """The model with its payload, on a floor, and held as in the policy's training."""
    return robot_to_train(model, payload, clamp=policy.clamp, for_pictures=for_pictures)


def robot_to_train(
    model: Model, payload: PayloadOnRobot = None, *, clamp: Clamp | None = None, for_pictures: bool = False
) -> TrackedRobot:
    """The model with its payload, on a floor."""
    from haloid.skills.task.robot import tracked_robot_of

    robot, spec = robot_of(model), load_robot(model)
    put_on(spec, loads_of(payload, robot))
    return tracked_robot_of(spec, describe(robot), clamp=clamp, for_pictures=for_pictures)


def _require(function: str, *packages: str) -> None:
    require_extra(function, "learn", *packages)
