"""`haloid evaluate`: how well a policy's ONNX file follows its motion, on any model of the robot."""

from __future__ import annotations

import json
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.robots.entries import DEFAULT_ROBOT

if TYPE_CHECKING:
    from haloid.skills.evaluation.evaluate import Evaluation
    from haloid.skills.task.robot import TrackedRobot
    from haloid.trajectories.rollout import Rollout


@dataclass(frozen=True)
class Config:
    """Run a policy's ONNX file on a model of the robot and measure how well it follows its motion.

    Many robots start at once, slightly disturbed, and go through the motion once. A run succeeds when the mean distance
    of its bodies from the reference is never over 0.5 m. Errors are shown over all runs, each up to its end, and over
    the successful ones. Exit status 0 whether the policy succeeds or not.

    Examples:
        haloid evaluate out/squat
        haloid evaluate out/squat/policy.onnx --model loaded.xml -o out/squat-loaded --video out/squat.mp4
        haloid evaluate out/walk --payload-setting 1 --push 1 --delay 0.01
        haloid evaluate out/squat --save-rollouts out/squat-rollouts.npz
        haloid evaluate out/squat --simulator genesis --starts 20
    """

    policy: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="POLICY")]
    """policy.onnx of haloid or mjlab, a policy.pt, or the folder of a training."""
    model: str = DEFAULT_ROBOT
    """The robot it is measured on: g1, a model file, or a patch.json."""
    payload_setting: Literal[1, 2, 3] | None = None
    """Put HALO's Perturbation Setting on the model: 6, 9 or 12 kg on the torso and weights in the hands."""
    motion: str | None = None
    """Which motion, for a policy that follows several."""
    starts: int = 100
    """How many robots."""
    random_starts: bool = False
    """Start anywhere in the motion, not at its beginning."""
    disturbance: float = 0.1
    """Of the start, as a fraction of mjlab's: root ± 5 cm and ± 0.1 rad, its velocities ± 0.5 m/s, joints ± 0.1 rad."""
    noise: float = 1.0
    """Of the observations, as a fraction of mjlab's."""
    push: float = 0.0
    """Kicks every one to three seconds, as a fraction of mjlab's ± 0.5 m/s."""
    delay: float = 0.0
    """Seconds from the policy's targets to the servos, at most 0.02."""
    randomisation: Literal["none", "nominal", "wide", "mjlab", "asap"] = "none"
    """Of the robots; none: all are the model."""
    simulator: Literal["mujoco", "genesis"] = "mujoco"
    """What moves the robots; genesis: another simulator, which make genesis sets up."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder for evaluation.json and evaluation.html."""
    video: Path | None = None
    """Film of a typical run, NAME.mp4, with the reference as a ghost."""
    save_rollouts: Path | None = None
    """States, targets and actions of all runs, NAME.npz (docs/rollouts.md)."""
    save_observations: bool = False
    """Put what the policy saw into the rollouts too."""


def run(config: Config) -> None:
    require_extra("evaluate", "learn", "onnx", "onnxruntime", "mjbatch")
    from haloid.outputs import atomic_directory
    from haloid.report.evaluation import metrics_table, success_text

    if config.video is not None:
        from haloid.report.pictures.evaluation_video import check_video

        check_video(config.video)
    if config.save_observations and config.save_rollouts is None:
        raise HaloidError("--save-observations adds to the rollouts; give --save-rollouts NAME.npz as well")
    with nullcontext() if config.out is None else atomic_directory(config.out) as folder:
        evaluation, robot, rollout = _evaluate(config)
        console.results.print(
            f"{evaluation.motion} on {_model_text(config)}: {success_text(evaluation)} runs succeed, "
            f"survival {100 * evaluation.survival:.0f} %",
            soft_wrap=True,
        )
        console.print_table(metrics_table(evaluation))
        console.results.print(_hardest(evaluation), soft_wrap=True)
        if folder is not None:
            _write(config, evaluation, folder)
    if config.out is not None:
        console.wrote(config.out / "evaluation.html")
        console.wrote(config.out / "evaluation.json")
    if rollout is not None and config.save_rollouts is not None:
        from haloid.trajectories.rollout_file import write_rollout

        console.wrote(write_rollout(rollout, config.save_rollouts))
    if config.video is not None:
        from haloid.report.pictures.evaluation_video import write_video

        with console.progress("Filming") as say:
            write_video(evaluation, robot.model, config.video, say)
        console.wrote(config.video)
    console.next_command("view", config.policy, *([] if config.model == DEFAULT_ROBOT else ["--model", config.model]))


def _evaluate(config: Config) -> tuple[Evaluation, TrackedRobot, Rollout | None]:
    from haloid.api.skills import robot_to_measure
    from haloid.skills.evaluation.evaluate import EvaluationConfig, evaluate
    from haloid.skills.evaluation.genesis import Genesis, check_genesis
    from haloid.skills.evaluation.rollout import rollout_of_evaluation
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.policies.open_policy import onnx_of
    from haloid.skills.task.simulation import Simulation

    settings = EvaluationConfig(
        starts=config.starts,
        seed=config.seed,
        motion=config.motion,
        start_from="random" if config.random_starts else "beginning",
        disturbance=config.disturbance,
        noise=config.noise,
        push=config.push,
        delay_s=config.delay,
        randomisation=config.randomisation,
        threads=config.threads,
    )
    if config.simulator == "genesis":
        check_genesis(config.randomisation)
    with console.progress("Evaluating") as say, onnx_of(config.policy) as file, ExitStack() as opened:
        policy = DeployedPolicy(file)
        for_pictures = config.video is not None
        robot = robot_to_measure(config.model, config.payload_setting, policy, for_pictures=for_pictures)
        simulate, simulator = Simulation, None
        if config.simulator == "genesis":
            say("Genesis compiles the robots, which may take two minutes")
            simulate = opened.enter_context(Genesis())
        evaluation, rollout = evaluate(policy, robot, settings, say, simulate), None
        if isinstance(simulate, Genesis):
            simulator = simulate.name
        if config.save_rollouts is not None:
            observations = config.save_observations
            rollout = rollout_of_evaluation(evaluation, policy, robot, config.model, observations, simulator)
        return evaluation, robot, rollout


def _model_text(config: Config) -> str:
    load = "" if config.payload_setting is None else f" with HALO's Perturbation Setting {config.payload_setting}"
    place = ", in Genesis" if config.simulator == "genesis" else ""
    return f"{config.model}{load}{place}"


def _hardest(evaluation: Evaluation) -> str:
    torque, travel = evaluation.torque_peak_use.argmax(), evaluation.range_peak_use.argmax()
    names = [name.removesuffix("_joint") for name in evaluation.joint_names]
    return (
        f"torque: at most {100 * evaluation.torque_peak_use[torque]:.0f} % of the limit ({names[torque]}, rms "
        f"{100 * evaluation.torque_rms_use[torque]:.0f} %); joint range: at most "
        f"{100 * evaluation.range_peak_use[travel]:.0f} % of half ({names[travel]})"
    )


def _write(config: Config, evaluation: Evaluation, folder: Path) -> None:
    """evaluation.json and evaluation.html."""
    from haloid.report import write_report
    from haloid.report.evaluation import evaluation_sections, success_text

    document: dict[str, Any] = {"policy": str(config.policy), "model": config.model, "simulator": config.simulator}
    document |= {"payload_setting": config.payload_setting, **evaluation.document()}
    settings = {"policy": str(config.policy), "model": _model_text(config)}
    settings |= {name: str(value) for name, value in document["settings"].items() if value is not None}
    (folder / "evaluation.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    write_report(
        folder / "evaluation.html",
        f"Evaluation: {evaluation.motion}",
        f"{success_text(evaluation)} runs on {_model_text(config)} succeed.",
        evaluation_sections(evaluation, settings),
    )
