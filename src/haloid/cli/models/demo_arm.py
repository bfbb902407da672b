"""`haloid demo --robot so101`: an arm with hobby servos is recorded, calibrated and replayed on a run held out."""

from __future__ import annotations

from pathlib import Path

from haloid.cli import console

RUNS = 6
_SHOWN = ("kp", "damping", "frictionloss", "delay")
"""On screen; the report has armature and effort too."""


def run_arm(out: Path, seed: int) -> None:
    from haloid.api.calibration import calibrate
    from haloid.api.logs import read
    from haloid.identify.calibration.lone_joint import KINDS
    from haloid.lab.motors.hobby_arm import record_arm, worn_arm
    from haloid.outputs import atomic_directory
    from haloid.recordings.files.write import write_recording
    from haloid.report import Section, Text, write_report
    from haloid.report.calibration import calibration_sections, lead, summary_lines, truth_table
    from haloid.report.replay import by_run
    from haloid.robots.patch import write_patch

    with atomic_directory(out) as folder:
        arm = worn_arm(seed)
        for part in ("recordings", "truth", "result"):
            (folder / part).mkdir()
        with console.progress("Recording"):
            runs = record_arm(arm, seed, RUNS)
            files = [write_recording(one, folder / "recordings" / one.name) for one in runs]
            write_patch(arm, folder / "truth" / "patch.json")
        with console.progress("Calibrating") as say:
            result = calibrate(read(files), say=say)
        with console.progress("Writing the result"):
            result.write_into(folder / "result")
            found = result.found
            text = Text(
                "The arm was simulated at 1 kHz; its servos are some 80 times softer than the model's, its links up to "
                "2 % off. The log tells nothing of it: targets and encoder angles (4096 steps a turn) at 50 Hz."
            )
            compared = truth_table(found, arm.joints, (*KINDS, "delay"))
            sections = calibration_sections(found, result.tables[1:])
            sections.insert(1, Section("Truth and estimate", [text, compared]))
            write_report(folder / "report.html", "A simulated SO-101 and its servos", lead(found), sections)
    console.print_table(truth_table(found, arm.joints, _SHOWN))
    console.print_table(by_run(*found.judged))
    for line in summary_lines(found):
        console.results.print(line)
    inside = [row[-1] for row in compared.texts() if row[-1]]
    console.results.print(f"{inside.count('yes')} of {len(inside)} true values are in their 95 % intervals.")
    console.wrote(out / "result" / "result.json")
    console.wrote(out / "report.html")
    console.next_command("replay", out / "result", out / "recordings" / f"{found.held_out[0].name}.csv")
