"""The rival finds the softness of a servo that is softer, from pairs with and without a payload."""

from pathlib import Path

import pytest
from tests.gap.tiny_arm import JOINTS, SOFTNESS, gains, tiny_dataset

from haloid.gap.operator.parameters import fit_parameters


@pytest.mark.slow
def test_softer_servos_are_found(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=8)
    found = fit_parameters(known.base, known.pairs)
    for name in JOINTS:
        assert found.joints[name]["kp"] == pytest.approx(SOFTNESS * gains().kp[name], rel=0.1)
