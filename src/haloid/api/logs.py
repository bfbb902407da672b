"""`haloid.read`, `haloid.inspect` and `haloid.record`: recordings from files, what is in them, and simulated ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloid.api.notebook import framed
from haloid.api.payloads import PayloadOnRobot, loads_of
from haloid.errors import HaloidError
from haloid.identify.inspection.advice import advice
from haloid.identify.inspection.inspect import Inspection, inspect_recording
from haloid.lab.aging import Aging
from haloid.lab.excitation import Excitation
from haloid.lab.record import record as record_run
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import write_runs
from haloid.recordings.open_log import open_log
from haloid.recordings.patterns import matching_files
from haloid.recordings.recording import Recording
from haloid.report.html.page import render
from haloid.report.inspection import facts, inspection_sections, joints_table, lead, notable, precision_table
from haloid.report.screen import plain_text
from haloid.robots.entries import DEFAULT_ROBOT, USUAL_CLAMP

Recordings = Recording | Sequence[Recording]


def recordings_of(what: str, given: Recordings) -> tuple[Recording, ...]:
    """Of an argument of this name."""
    recordings = (given,) if isinstance(given, Recording | str | Path) else tuple(given)
    for one in recordings:
        if not isinstance(one, Recording):
            raise HaloidError(
                f"{what} holds {str(one)!r}; expected recordings. Read them first: haloid.read('logs/{what}-*.csv')"
            )
    return recordings


def read(files: str | Path | Iterable[str | Path], *, allow_gaps: bool = False) -> list[Recording]:
    """The recordings, or logs with their json beside them, of these names; `*` and `?` are wildcards.

    With `allow_gaps`, missing rows are a warning instead of an error; no fragment spans a gap.

    Examples:
        >>> haloid.read("logs/loaded-*.csv")
        [Recording('loaded-1', ...), Recording('loaded-2', ...)]
    """
    names = [files] if isinstance(files, str | Path) else files
    return [open_log(path, allow_gaps=allow_gaps) for path in matching_files(names)]


@dataclass(frozen=True, repr=False)
class Inspected:
    """What is in a recording: facts, what to improve, and in a notebook a page with plots of every joint."""

    facts: Inspection
    """Timing, noise, motion joint by joint, and the precision to expect."""
    advice: tuple[str, ...]
    """What to improve, the most serious first."""
    recording: Recording

    @property
    def page(self) -> str:
        """The page that `haloid inspect --html` writes."""
        sections = inspection_sections(self.facts, self.advice, self.recording)
        return render(f"What is in {self.facts.name}", lead(self.facts, self.advice), sections)

    def __repr__(self) -> str:
        lines = [f"{what:<8}{found}" for what, found in facts(self.facts)]
        tables = [joints_table(notable(self.facts.joints), len(self.facts.joints)), precision_table(self.facts)]
        lines += [f"\n{plain_text(table)}" for table in tables if table is not None]
        return "\n".join([*lines, "", *(f"- {sentence}" for sentence in self.advice)]).rstrip()

    def _repr_html_(self) -> str:
        return framed(self.page, f"What is in {self.facts.name}")


def inspect(recording: Recording | str | Path, payload_links: Sequence[str] = ()) -> Inspected:
    """What is in a recording, how precisely it would show the payload, and what to improve.

    Gaps are counted, not refused. Without `payload_links`, those where the robot usually carries things.

    Examples:
        >>> inspected = haloid.inspect("logs/loaded-1.csv")
        >>> round(inspected.facts.rate_hz), inspected.facts.gaps
        (50, 0)
        >>> inspected.advice[0]
        'It lasts only 3.0 s. Record at least 5 s, ...'
    """
    if not isinstance(recording, Recording):
        (recording,) = read(recording, allow_gaps=True)
    found = inspect_recording(recording, payload_links)
    return Inspected(found, tuple(advice(found)), recording)


def record(
    name: str | Path | None = None,
    *,
    robot: str = DEFAULT_ROBOT,
    clamp: str | None = USUAL_CLAMP,
    payload: PayloadOnRobot = None,
    aged: int | None = None,
    noise_rad: float = 0.0005,
    duration_s: float = 10.0,
    runs: int = 1,
    seed: int = 0,
) -> list[Recording]:
    """Recordings of a simulated lab robot that is held by one link and shaken.

    Args:
        name: writes NAME.csv and NAME.json (NAME-1, NAME-2, ... for several runs), and NAME.truth.json with what an
            identification is to find; None: nothing is written.
        robot: a known robot, or the path of an MJCF or URDF file.
        clamp: the link that is held, by default the one the robot's description names; None: a robot with a fixed base.
        payload: what it carries: HALO's Perturbation Setting 1, 2 or 3, or mass (kg) and centre of mass in the link's
            frame (m) by link.
        aged: seed of its wear; None: the robot of the data sheet.
        noise_rad: of its encoders.
        seed: of the first run; the next runs count up from it.

    Examples:
        >>> haloid.record(payload={"torso_link": (4.0, (0.0, 0.0, 0.2))}, duration_s=2.0)
        [Recording('run', robot 'g1', clamp 'left_ankle_roll_link', payload 'unknown', 100 rows at 50 Hz)]
    """
    if runs < 1:
        raise HaloidError(f"{runs} runs; expected at least 1")
    lab_robot = LabRobot(
        robot=robot,
        clamp=clamp,
        loads=loads_of(payload, robot),
        aging=None if aged is None else Aging(seed=aged),
    )
    path = Path("run" if name is None else name)
    recorded = []
    for number in range(runs):
        run_name = path.name if runs == 1 else f"{path.name}-{number + 1}"
        sensors, excitation = Sensors(noise_rad=noise_rad), Excitation(duration_s=duration_s)
        recorded.append(record_run(lab_robot, sensors, excitation, seed=seed + number, name=run_name))
    if name is None:
        return [recording for recording, _ in recorded]
    return read(write_runs(recorded, path.parent, path.parent))
