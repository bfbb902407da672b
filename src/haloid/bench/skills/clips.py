"""Other people's clips: which of them the robot can follow as they are, mended or not at all, and how well it does.

For every clip of a folder: the check as it is, after mending (skills/feasibility), and, as an oracle independent
of the check, whether the model-based controller plays the mended clip to its end in MuJoCo, without noise, on the robot
itself. With iterations to spend, one policy learns the feasible clips that are not too long, and is run on each of
them from many starts; a clip that it does not track may have a policy of its own, which begins with that one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from haloid.bench.outcome import Outcome, Target
from haloid.bench.skills.learning import train_or_resume
from haloid.errors import HaloidError
from haloid.motions.check import check
from haloid.motions.finding import Finding
from haloid.motions.load import kind_of, read_frames
from haloid.motions.resample import resample
from haloid.outputs import atomic_file
from haloid.report import Table
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.evaluation.evaluate import evaluate
from haloid.skills.evaluation.runs import EvaluationConfig
from haloid.skills.feasibility.check import feasibility_findings, in_words
from haloid.skills.feasibility.mend import Mended, mend
from haloid.skills.feasibility.play import part_played
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.run_folder import TrainingOutcome, finish
from haloid.trajectories.motion import motion_of
from haloid.trajectories.motion_export import write_motion
from haloid.trajectories.mujoco_states import states_of
from haloid.trajectories.trajectory import FloatingTrajectory

TRACKED = 0.9
"""Of the starts that a policy must get through for its clip to count as tracked."""
SUFFIXES = (".pkl", ".csv")


@dataclass(frozen=True)
class Clips:
    """Settings of `haloid bench clips`."""

    folder: Path = Path("../shared/data/motions")
    """Where the clips are, in folders of their own or not."""
    only: tuple[str, ...] = ()
    """Clips whose name holds one of these; all by default."""
    csv_fps: float = 60.0
    """Frames per second of the csv files, which do not say; g1-moves has 60."""
    play: bool = True
    """Play the mended clips with the controller."""
    iterations: int = 0
    """Of the training of one policy on the feasible clips; 0: none."""
    longest: float = 10.0
    """Clips that the policy learns, s; longer ones are checked and mended only."""
    own_iterations: int = 0
    """At most, of a policy for each clip alone that the common one, with which it begins, does not track; 0: none. It
    ends when 90 % of a trial succeed under all pushes and randomisation."""
    start: Path | None = None
    """A training to begin with, on other motions."""
    delay: float = 0.005
    """From targets to servos, s."""
    state_estimation: bool = True
    """The policy sees its place and linear velocity with mjlab's noise, as in mjlab's own task."""
    starts: int = 50
    """Runs of each clip, under all of mjlab's noise."""
    seed: int = 0
    work: Path = Path("out/clips")
    """Where mended clips, their results and the training are kept; what is there is not done again."""
    out: Path = Path("out/bench/clips")
    """Directory for result.json."""


@dataclass(frozen=True)
class ClipResult:
    clip: str
    seconds: float
    """As the file has it."""
    feasible_as_it_is: bool
    feasible: bool
    """After mending."""
    pace: float
    shift_m: float
    lowering_m: float
    lacking: tuple[str, ...]
    """What the mended clip still asks too much, if it does, else what the clip does as it is."""
    played: float | None
    """Part of the clip that the controller gets through."""
    success: float | None = None
    """Of the trained policy's starts."""
    error_mm: float | None = None
    """The policy's E_g-mpjpe over all starts."""
    own_iterations: int = 0
    """Of a policy for this clip alone; 0: the common one was run."""


def run(config: Clips, say: Callable[[str], None]) -> Outcome:
    robot = tracked_robot(DEFAULT_ROBOT)
    results = [_kept_or_new(path, config, robot, say) for path in _files(config)]
    if config.iterations:
        results = _tracked(results, config, robot, say)
    feasible = [result for result in results if result.feasible]
    tracked = [result for result in results if result.success is not None and result.success >= TRACKED]
    trained = [result for result in results if result.success is not None]
    played = [result for result in feasible if result.played == 1.0]
    headline: dict[str, float] = {
        "clips_tracked": len(tracked),
        "clips_feasible": len(feasible),
        "clips_feasible_as_they_are": sum(result.feasible_as_it_is for result in results),
        "clips_tried": len(results),
        "clips_trained": len(trained),
    }
    if config.play:
        headline["clips_played_by_the_controller"] = len(played)
    targets = [Target("clips tracked in 90 % of the starts", len(tracked), 8, at_least=True)] if trained else []
    notes = [] if trained else ["No policy was trained in this run (--iterations 0), so none is counted as tracked."]
    return Outcome(headline, [_row(result) for result in results], [_table(results)], targets, notes)


def _files(config: Clips) -> list[Path]:
    if not config.folder.is_dir():
        raise HaloidError(f"{config.folder} is not a folder. Give one with clips: --folder DIR")
    files = sorted(path for path in config.folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    files = [path for path in files if not config.only or any(word in path.stem for word in config.only)]
    if not files:
        raise HaloidError(f"{config.folder} holds no clips ({', '.join(SUFFIXES)}) of that name")
    return files


def _kept_or_new(path: Path, config: Clips, robot: TrackedRobot, say: Callable[[str], None]) -> ClipResult:
    """A clip that was done with the same settings is not done again."""
    file = config.work / f"{path.parent.name}-{path.stem}.json"
    settings = [config.csv_fps, config.play]
    if file.is_file():
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["settings"] == settings:
            return ClipResult(**{**kept["result"], "lacking": tuple(kept["result"]["lacking"])})
    result = _one(path, config, robot, say)
    config.work.mkdir(parents=True, exist_ok=True)
    with atomic_file(file) as beside:
        beside.write_text(json.dumps({"settings": settings, "result": _row(result)}, indent=1), encoding="utf-8")
    return result


def _one(path: Path, config: Clips, robot: TrackedRobot, say: Callable[[str], None]) -> ClipResult:
    say(f"{path.stem}: checking and mending")
    fps_in = config.csv_fps if kind_of(path) == "csv" else None
    frames = read_frames(path, robot.model, fps_in=fps_in)
    as_it_is = _errors_as_it_is(frames, robot)
    mended = mend(frames, robot, DEFAULT_ROBOT)
    played = None
    if mended.feasible:
        write_motion(mended.motion, config.work / f"{path.stem}.npz")
        if config.play:
            say(f"{path.stem}: playing")
            played = part_played(robot, mended.motion)
    return ClipResult(
        clip=f"{path.parent.name}/{path.stem}",
        seconds=(len(frames) - 1) / frames.rate_hz,
        feasible_as_it_is=not as_it_is,
        feasible=mended.feasible,
        pace=mended.pace,
        shift_m=mended.shift_m,
        lowering_m=mended.lowering_m,
        lacking=tuple(in_words(finding) for finding in (as_it_is if mended.feasible else _errors(mended))),
        played=played,
    )


def _errors_as_it_is(frames: FloatingTrajectory, robot: TrackedRobot) -> list[Finding]:
    motion = motion_of(resample(frames, 50.0), robot.model)
    states = states_of(robot.model, motion.trajectory)
    found = [*check(frames), *feasibility_findings(robot.model, robot.description, states)]
    return [finding for finding in found if finding.severity == "error"]


def _errors(mended: Mended) -> list[Finding]:
    return [finding for finding in mended.findings if finding.severity == "error"]


def _tracked(
    results: list[ClipResult], config: Clips, robot: TrackedRobot, say: Callable[[str], None]
) -> list[ClipResult]:
    """With success and E_g-mpjpe of one policy that learns the feasible clips, by the recipe of haloid train."""
    learned = [result.clip for result in results if result.feasible and result.seconds <= config.longest]
    if not learned:
        raise HaloidError(
            f"no clip of at most {config.longest:g} s is feasible, so there is nothing to learn. Give more: --longest S"
        )
    stems = {clip: Path(clip).name for clip in learned}
    common = finish(_train(config, list(stems.values()), config.iterations, "policy", config.start, say))
    measured = []
    for result in results:
        if result.clip in stems:
            stem = stems[result.clip]
            how = EvaluationConfig(starts=config.starts, seed=config.seed, motion=stem, delay_s=config.delay)
            say(f"running {result.clip}")
            found, own_iterations = evaluate(DeployedPolicy(common), robot, how), 0
            if found.success_rate < TRACKED and config.own_iterations:
                name = f"policy-{stem}"
                own = _train(config, [stem], config.own_iterations, name, common.parent, say, until=TRACKED)
                say(f"running {result.clip} with a policy of its own")
                found, own_iterations = evaluate(DeployedPolicy(finish(own)), robot, how), own.iterations
            error = found.error("e_g_mpjpe_mm")
            result = replace(
                result,
                success=found.success_rate,
                error_mm=float("nan") if error is None else error.mean,
                own_iterations=own_iterations,
            )
        measured.append(result)
    return measured


def _train(
    config: Clips,
    stems: list[str],
    iterations: int,
    name: str,
    start: Path | None,
    say: Callable[[str], None],
    until: float | None = None,
) -> TrainingOutcome:
    """A training on these clips, which goes on if it was stopped."""
    folder = config.work / name
    task = TaskConfig(
        motions=tuple(str(config.work / f"{stem}.npz") for stem in stems),
        delay_s=config.delay,
        state_estimation=config.state_estimation,
        seed=config.seed,
    )
    learning = TrainingConfig(task, iterations=iterations, until=until)
    return train_or_resume(learning, folder, start, lambda text: say(f"{', '.join(stems)}: {text}"))


def _row(result: ClipResult) -> dict[str, Any]:
    return {**asdict(result), "lacking": list(result.lacking)}


def _table(results: list[ClipResult]) -> Table:
    rows = []
    for result in results:
        verdict = "as it is" if result.feasible_as_it_is else "mended" if result.feasible else "no"
        slower = "" if result.pace == 1.0 else f", at {result.pace:g} of its speed"
        what = f"{100 * result.shift_m:.0f} cm aside, {100 * result.lowering_m:.0f} cm lower{slower}"
        told = what if result.feasible else "; ".join(result.lacking)
        played = "–" if result.played is None else f"{100 * result.played:.0f} %"
        success = "–" if result.success is None else f"{100 * result.success:.0f} %"
        own = str(result.own_iterations) if result.own_iterations else "–"
        rows.append([result.clip, f"{result.seconds:.1f}", verdict, told, played, own, success])
    columns = ["clip", "seconds", "feasible", "pelvis moved by, or the reason", "controller plays"]
    columns += ["own iterations", "policy, starts"]
    note = (
        "The controller plays the mended clip without noise on the robot itself: the part that it gets through. Own "
        "iterations: of a policy for this clip alone, where the common one does not track it."
    )
    return Table(columns, rows, note)
