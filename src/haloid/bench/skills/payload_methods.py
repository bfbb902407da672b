"""HALO's three ways to prepare for a load (Section IV-C), each as a patch of the nominal robot and a randomisation.

The truth is a G1 with one of HALO's Perturbation Settings: the nominal one, or one that is worn in links, joints and
motors and stands on a softer, more slippery floor. It is recorded in the lab, unloaded and loaded, with encoder noise;
`identify` finds its parameters from these recordings alone. HALO trains on what was found; CM (calibrated mass) on the
masses that were found with nominal centres of mass, as if the load had been weighed; WDR (wide domain
randomisation) on the nominal robot. Randomisation is Table I: nominal for HALO and CM, wide for WDR.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.identify.results.files import robot_patch
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.aging import Aging, age
from haloid.lab.loads import halo_setting, put_on
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.inertia import LinkParameters, read_links
from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.patch import Patch, read_patch, write_patch
from haloid.skills.task.randomisation import RandomisationName
from haloid.skills.task.robot import TrackedRobot, tracked_robot_of

METHODS = ("wdr", "cm", "halo")
ROBOT, RUNS, NOISE_RAD = DEFAULT_ROBOT, 3, 0.0005
WEAR = Aging(seed=12, strength_fraction=0.03)
"""Of the robot that learned policies are judged on; drawn once, before any policy was run on it."""
FLOOR_FRICTION, FLOOR_SOLREF = 0.6, (0.03, 1.0)
"""Of the worn robot's soles: slower to push back than MuJoCo's (0.02, 1)."""


@dataclass(frozen=True)
class Method:
    name: str
    randomisation: RandomisationName
    patch: dict[str, Any] | None
    """The patch.json to train on, as plain values; None: the nominal robot."""


def methods(folder: Path, say: Callable[[str], None], *, worn: bool = False, setting: int = 1) -> dict[str, Method]:
    """The three methods by name; the identification of each robot is done once per folder."""
    name = "identified" + ("-worn" if worn else "") + (f"-setting-{setting}" if setting > 1 else "")
    file = folder / name / "patch.json"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_patch(_identified(say, worn=worn, setting=setting), file)
    halo = read_patch(file)
    cm_file = file.with_name("calibrated-mass.json")
    write_patch(_masses_alone(halo), cm_file)
    return {
        "wdr": Method("wdr", "wide", None),
        "cm": Method("cm", "nominal", json.loads(cm_file.read_text(encoding="utf-8"))),
        "halo": Method("halo", "nominal", json.loads(file.read_text(encoding="utf-8"))),
    }


def true_robot(*, worn: bool = False, setting: int = 1) -> TrackedRobot:
    """The robot that policies are judged on, with its load."""
    spec, description, strength = load_spec(ROBOT), describe(ROBOT), 1.0
    if worn:
        strength = age(spec, WEAR, actuated_joints(spec))
        for geom in spec.geoms:
            if geom.parent.name in description.feet.values():
                geom.friction[0], geom.solref[:2] = FLOOR_FRICTION, FLOOR_SOLREF
    put_on(spec, halo_setting(setting))
    return replace(tracked_robot_of(spec, description), strength=strength)


def _identified(say: Callable[[str], None], *, worn: bool, setting: int) -> Patch:
    sensors = Sensors(noise_rad=NOISE_RAD)
    recordings = {}
    for number, (condition, loads) in enumerate((("unloaded", ()), ("loaded", halo_setting(setting)))):
        say(f"recording the {condition} robot")
        robot = LabRobot(loads=loads, aging=WEAR if worn else None)
        seeds = range(RUNS * number, RUNS * (number + 1))
        recordings[condition] = [record(robot, sensors, seed=seed, name=f"{condition}-{seed}")[0] for seed in seeds]
    say("identifying")
    return robot_patch(
        identify(recordings["unloaded"], recordings["loaded"], Settings(PAYLOAD_LINKS, payload_model="halo")), ROBOT
    )


def _masses_alone(found: Patch) -> Patch:
    """What weighing the load would tell: masses as found, everything else nominal."""
    nominal = read_links(load_spec(ROBOT).compile())
    links = {
        name: LinkParameters(found.links[name].mass_kg, nominal[name].com_in_link_m, nominal[name].inertia_about_com)
        for name in PAYLOAD_LINKS
    }
    return Patch(found.robot, links)
