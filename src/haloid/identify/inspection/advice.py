"""Advice: what an inspection means for the person who records the robot, the most serious first.

Every threshold has a name here; no sentence is given for a recording that is well within all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from haloid.identify.inspection.inspect import Inspection, JointFacts
from haloid.identify.inspection.precision import LinkPrecision
from haloid.identify.results.answer import NORMAL_95
from haloid.identify.settings import Settings

STILL_RAD = 0.002
"""A joint that moves less (rms) stands still: its friction stays unknown."""
QUIET_RAD = 0.02
"""A robot none of whose joints moves more than this (rms) tells little."""
LIMITED_SHARE = 0.01
"""Rows at a torque limit or a stop that are worth mentioning."""
ABSURD_TORQUE = 5.0
"""Of a motor's limit: nobody commands that on purpose."""
LOST_SHARE = 0.01
SHORT_S = 5.0
NOISY_RAD = 2e-3
SLOW_HZ = 40.0
"""Slower rows do not follow a servo's motion."""
MISFIT_NOISES, MISFIT_RAD = 10.0, 5e-3
"""A fit that leaves more than both is of another robot: wear leaves a few times the noise, around 1 mrad."""
LOOSE_MASS_KG, LOOSE_COM_M = 0.1, 0.01
"""Half of a 95 % interval from which a link is poorly known."""
MOST_FRAGMENTS = 200
"""More of one recording take minutes and hardly narrow the intervals."""
_NAMED = 3


def advice(inspection: Inspection) -> list[str]:
    """Sentences, each with what was found and what to do; none where nothing is wrong."""
    return [
        sentence
        for rule in (
            _unpredictable,
            _misfit,
            _motion,
            _precision,
            _limits,
            _stops,
            _time,
            _noise,
            _support,
            _torques,
            _options,
        )
        for sentence in rule(inspection)
    ]


def identify_options(inspection: Inspection) -> list[str]:
    """What `haloid identify` is to be told for this recording, as far as that is not its default."""
    default, found = Settings(()), inspection.precision
    if found is None:
        return []
    options = [] if found.engine == default.engine else [f"--engine {found.engine}"]
    if found.rows != default.rows:
        options.append(f"--rows {found.rows}")
    if found.fragments > default.fragments:
        options.append(f"--fragments {min(found.fragments, MOST_FRAGMENTS)}")
    return options + (["--allow-gaps"] if inspection.gaps else [])


def _unpredictable(inspection: Inspection) -> list[str]:
    if inspection.precision is not None:
        return []
    return [f"Nothing can be identified from it: {inspection.why_no_precision}."]


def _misfit(inspection: Inspection) -> list[str]:
    if not _misfits(inspection):
        return []
    assert inspection.precision is not None and inspection.precision.misfit_rad is not None
    return [
        f"Robot and recording do not belong together: with any load, the robot of the data sheet misses the readings "
        f"by {1e3 * inspection.precision.misfit_rad:.2g} mrad, and the intervals above mean nothing. Check clamp, "
        "gains, the joints' signs and zeros, and the clock of the commands."
    ]


def _misfits(inspection: Inspection) -> bool:
    missed_rad = inspection.precision and inspection.precision.misfit_rad
    return missed_rad is not None and missed_rad > max(MISFIT_NOISES * inspection.noise_rad, MISFIT_RAD)


def _motion(inspection: Inspection) -> list[str]:
    if all(joint.rms_rad < QUIET_RAD for joint in inspection.joints):
        return [
            f"The robot hardly moves: no joint by {QUIET_RAD:g} rad rms. Play a motion that moves the joints between "
            "clamp and payload; haloid excite designs one."
        ]
    still = [joint for joint in inspection.joints if joint.rms_rad < STILL_RAD]
    if not still:
        return []
    return [
        f"{_names(still)} stand{'s' * (len(still) == 1)} still (less than {1e3 * STILL_RAD:g} mrad rms), so that "
        "friction there stays unknown. Move every joint a little."
    ]


def _precision(inspection: Inspection) -> list[str]:
    if inspection.precision is None or _misfits(inspection):
        return []
    links = inspection.precision.links
    unseen = [f"{link.link}.{name}" for link in links for name in link.unseen]
    sentences = []
    if unseen:
        sentences.append(
            f"It says nothing about {_listed(unseen)}. Turn the link about a level axis and back (waist and arms), or "
            "name fewer --payload-links."
        )
    loose = [link.link for link in links if not link.unseen and _is_loose(link)]
    if loose:
        sentences.append(
            f"{_listed(loose)} would be known only roughly (mass beyond ± {1e3 * LOOSE_MASS_KG:g} g or CoM beyond "
            f"± {1e3 * LOOSE_COM_M:g} mm). Record longer, move waist and arms further and faster, or play a plan of "
            "haloid excite."
        )
    return sentences


def _is_loose(link: LinkPrecision) -> bool:
    return NORMAL_95 * link.mass_std_kg > LOOSE_MASS_KG or NORMAL_95 * max(link.com_std_m) > LOOSE_COM_M


def _limits(inspection: Inspection) -> list[str]:
    at_limit = [joint for joint in inspection.joints if joint.saturated_share > LIMITED_SHARE]
    if not at_limit:
        return []
    worst = max(at_limit, key=lambda joint: joint.saturated_share)
    sentences = [
        f"{_names(at_limit)} ask{'s' * (len(at_limit) == 1)} for all the motor's torque, {worst.name} in "
        f"{100 * worst.saturated_share:.0f} % of the rows. They are used, with the model's torque limits: "
        "see that these are the robot's, or move more slowly or less far."
    ]
    most = max(joint.torque_share or 0.0 for joint in at_limit)
    if most > ABSURD_TORQUE:
        sentences.append(
            f"Commands ask for up to {most:.0f} times a motor's torque: are the gains (kp, kd) and their units right?"
        )
    return sentences


def _stops(inspection: Inspection) -> list[str]:
    stopped = [joint for joint in inspection.joints if joint.at_stop_share > LIMITED_SHARE]
    if not stopped:
        return []
    worst = max(stopped, key=lambda joint: joint.at_stop_share)
    return [
        f"{_names(stopped)} stood at the end of the joint's range, {worst.name} in "
        f"{100 * worst.at_stop_share:.0f} % of the rows, which are left out. Keep the motion off the stops."
    ]


def _time(inspection: Inspection) -> list[str]:
    sentences = []
    if inspection.duration_s < SHORT_S:
        sentences.append(
            f"It lasts only {inspection.duration_s:.1f} s. Record at least {SHORT_S:g} s, better several runs of 10 s."
        )
    share = inspection.lost_rows / (inspection.rows + inspection.lost_rows)
    if share > LOST_SHARE:
        sentences.append(
            f"{100 * share:.0f} % of the rows were lost in {inspection.gaps} gap{'s' * (inspection.gaps != 1)}, which "
            "no fragment spans. Log on the robot itself, or over a cable."
        )
    if inspection.rate_hz < SLOW_HZ:
        sentences.append(
            f"{inspection.rate_hz:.3g} rows per second are too few to follow a servo. Record at {SLOW_HZ:g} Hz or more."
        )
    return sentences


def _noise(inspection: Inspection) -> list[str]:
    if inspection.noise_rad <= NOISY_RAD:
        return []
    return [
        f"The readings scatter by {1e3 * inspection.noise_rad:.2g} mrad. Check the encoders, or record more slowly: "
        "shaking that is faster than the rows looks like noise."
    ]


def _support(inspection: Inspection) -> list[str]:
    if inspection.support == "single":
        return []
    return [
        "The other foot rests on the floor, which carries part of the load: the intervals above are wider than with "
        "that foot lifted."
    ]


def _torques(inspection: Inspection) -> list[str]:
    if inspection.actuation == "position":
        return []
    return [
        "Torques are taken as applied: an error of the motors looks like payload. Record the robot without its load as "
        "well (--unloaded), to calibrate it first."
    ]


def _options(inspection: Inspection) -> list[str]:
    options = identify_options(inspection)
    much = "all" if inspection.precision and inspection.precision.fragments <= MOST_FRAGMENTS else "most"
    return [f"To use {much} of it: haloid identify {' '.join(options)} ..."] if options else []


def _names(joints: Sequence[JointFacts]) -> str:
    return _listed([joint.name for joint in joints])


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
