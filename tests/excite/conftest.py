import pytest
from tests.excite.arm import arm_scenario
from tests.identify.arm import write_arm

from haloid.excite.scenario import Scenario


@pytest.fixture(scope="session")
def arm(tmp_path_factory) -> str:
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="session")
def scenario(arm) -> Scenario:
    return arm_scenario(arm)
