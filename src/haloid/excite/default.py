"""The hand-made default: a multi-sine in the shared posture, as large as both robots can follow."""

from __future__ import annotations

from haloid.excite.feasible import feasible
from haloid.excite.scenario import Scenario
from haloid.lab.excitation import Reference, multi_sine


def default_reference(scenario: Scenario, seed: int) -> Reference:
    """Amplitudes, then torques limb by limb, for the robot with and without its heaviest payload."""
    built = scenario.nominal.built
    reference = multi_sine(
        scenario.excitation,
        scenario.joint_names,
        built.limbs,
        scenario.posture_rad,
        built.limits,
        scenario.torque_demand,
        built.control_dt_s,
        seed,
    )
    return feasible(scenario, reference)
