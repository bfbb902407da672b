"""Foot-height correction (HALO III-A, Fig. 3): the smallest change of the legs that puts the resting foot on the floor.

In: angles of a double-support recording. Out: the same with the resting foot on the floor. At every step, over
increments Δ of the lower-body joints:

    minimise ½‖Δ‖²   subject to   heights(q + Δ) = 0,   lower ≤ q + Δ ≤ upper,   |Δ| ≤ bound

HALO states the problem over root and joint increments with the clamped foot held. Here the tree is rooted in the
clamped foot, so it is fixed by construction and the root's increment follows from the joints': the same program with
the root eliminated. The heights are linearised at the current Δ and the quadratic program solved again until Δ
stays; encoder biases are as likely in one joint as in another, hence equal weights.
"""

from dataclasses import dataclass

import daqp
import numpy as np

from haloid.recordings.errors import RecordingError
from haloid.recordings.reconstruction.resting_foot import RestingFoot, resting_foot
from haloid.recordings.recording import Recording

_STAYS_RAD = 1e-9
"""Increments that change by less than this have converged."""
_MAX_ITERATIONS = 20
"""Six are usual; each brings about two digits."""
_QP_TOLERANCE = 1e-11
_EQUALITY, _INEQUALITY = 5, 0
"""DAQP's kinds of constraints."""
_SOLVED = 1


@dataclass(frozen=True)
class FootHeight:
    """What is required of the resting foot, and how far the joints may be corrected."""

    flat: bool = True
    """The whole sole lies on the floor; otherwise only its centre, and the foot keeps its roll and pitch."""
    max_increment_rad: float = 0.03
    """Bound on every increment: no encoder is assumed to be wrong by more."""
    max_lift_m: float = 0.015
    """A foot this far from its median height does not rest: biases move it by a constant, a step does not."""


_DEFAULT = FootHeight()


@dataclass(frozen=True)
class CorrectedFeet:
    """Angles before and after, rows by step, and what they say about the sole's heights."""

    foot: RestingFoot
    q_rad: np.ndarray
    """(T, n) corrected, in the order of `foot.joint_names`."""
    increment_rad: np.ndarray
    """(T, n) what was added; 0 above the legs."""
    heights_before_m: np.ndarray
    """(T, 3) of the sole's centre, front and left edge above the floor."""
    heights_after_m: np.ndarray


def correct_foot_height(recording: Recording, settings: FootHeight = _DEFAULT) -> CorrectedFeet:
    """The recording's own readings, corrected; smooth them first if they have outliers."""
    return put_on_floor(resting_foot(recording), recording.time_s, recording.q_rad, settings, recording.name)


def put_on_floor(
    foot: RestingFoot, time_s: np.ndarray, q_rad: np.ndarray, settings: FootHeight, name: str
) -> CorrectedFeet:
    """Corrects angles (T, n) step by step; refuses the recording `name` if the foot cannot have rested."""
    before_m = foot.heights_m(q_rad)
    _refuse_lift(foot, time_s, before_m[:, 0], settings, name)
    program = _Program(foot, settings)
    increment_rad = np.zeros_like(q_rad)
    for row, angles_rad in enumerate(q_rad):
        increment = program.solve(angles_rad)
        if increment is None:
            raise _out_of_reach(foot, time_s[row], before_m[row], angles_rad, settings, name)
        increment_rad[row, foot.lower_body] = increment
    corrected_rad = q_rad + increment_rad
    return CorrectedFeet(foot, corrected_rad, increment_rad, before_m, foot.heights_m(corrected_rad))


class _Program:
    """The program of one step, its arrays made once."""

    def __init__(self, foot: RestingFoot, settings: FootHeight) -> None:
        self.foot = foot
        self.points = 3 if settings.flat else 1
        self.bound_rad = settings.max_increment_rad
        self.lower_rad, self.upper_rad = (limit[foot.lower_body] for limit in foot.limits_rad())
        joints = len(foot.lower_body)
        self.hessian, self.gradient = np.eye(joints), np.zeros(joints)
        self.kinds = np.repeat(np.array([_INEQUALITY, _EQUALITY], dtype=np.int32), [joints, self.points])

    def solve(self, q_rad: np.ndarray) -> np.ndarray | None:
        """(m,) increments of the lower-body joints at one row of angles (n,); None: there are none."""
        legs, angles_rad = self.foot.lower_body, q_rad.copy()
        least = np.maximum(-self.bound_rad, self.lower_rad - q_rad[legs])
        most = np.minimum(self.bound_rad, self.upper_rad - q_rad[legs])
        if np.any(least > most):
            return None
        increment = np.zeros(len(legs))
        for _ in range(_MAX_ITERATIONS):
            angles_rad[legs] = q_rad[legs] + increment
            heights_m, slopes = (array[: self.points] for array in self.foot.linearised(angles_rad))
            slopes = np.ascontiguousarray(slopes[:, legs])
            wanted_m = slopes @ increment - heights_m
            upper, lower = np.concatenate([most, wanted_m]), np.concatenate([least, wanted_m])
            solution, _, status, _ = daqp.solve(
                self.hessian, self.gradient, slopes, upper, lower, self.kinds, primal_tol=_QP_TOLERANCE
            )
            if status != _SOLVED:
                return None
            settled = np.abs(solution - increment).max() < _STAYS_RAD
            increment = np.clip(solution, least, most)
            if settled:
                return increment
        return None


def _refuse_lift(foot: RestingFoot, time_s: np.ndarray, height_m: np.ndarray, settings: FootHeight, name: str) -> None:
    lift_m = height_m - np.median(height_m)
    lifted = np.flatnonzero(np.abs(lift_m) > settings.max_lift_m)
    if not len(lifted):
        return
    worst = int(np.argmax(np.abs(lift_m)))
    raise RecordingError(
        name,
        f"{time_s[lifted[0]]:.2f} s",
        found=f"{foot.link} leaves the floor: it is {_above(lift_m[worst])} its median height at {time_s[worst]:.2f} s "
        f"and more than {1e3 * settings.max_lift_m:.0f} mm from it in {len(lifted)} of {len(time_s)} steps",
        expected="a foot that rests on the floor all the time",
        next_step="Cut the recording to the steps in which it rests.",
    )


def _out_of_reach(
    foot: RestingFoot, time_s: float, heights_m: np.ndarray, q_rad: np.ndarray, settings: FootHeight, name: str
) -> RecordingError:
    lower, upper = foot.limits_rad()
    beyond = np.maximum(lower - q_rad, q_rad - upper)[foot.lower_body]
    worst = int(np.argmax(beyond))
    outside = f", and {foot.joint_names[foot.lower_body[worst]]} {1e3 * beyond[worst]:.0f} mrad outside its limits"
    return RecordingError(
        name,
        f"{time_s:.2f} s",
        found=f"{foot.link} does not rest on the floor: the centre of its sole is {_above(heights_m[0])} it, "
        f"the front {_above(heights_m[1])}, the left edge {_above(heights_m[2])}{outside if beyond[worst] > 0 else ''}",
        expected=f"a foot that joint increments of at most {1e3 * settings.max_increment_rad:g} mrad within the "
        "joints' limits put there",
        next_step='Check the zeros of the leg encoders, or set "support": "single" in the json if the foot hung free.',
    )


def _above(height_m: float) -> str:
    return f"{1e3 * abs(height_m):.0f} mm {'above' if height_m >= 0 else 'below'}"
