"""The small arm of the identification's tests, as a design scenario."""

from tests.identify.arm import lab_arm

from haloid.excite.scenario import Scenario, make_scenario
from haloid.lab.excitation import Excitation
from haloid.lab.loads import Load

LINKS = ("hand",)
HEAVIEST = (Load("hand", 2.0),)
SHAKE = Excitation(duration_s=4.0, arm_amplitude_rad=0.9)


def arm_scenario(path: str, excitation: Excitation = SHAKE) -> Scenario:
    return make_scenario(lab_arm(path), LINKS, HEAVIEST, excitation)
