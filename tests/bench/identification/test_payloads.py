"""The benchmark of rigid payloads, with the fewest of them."""

import pytest

from haloid.bench.identification.payloads import Payloads, run


@pytest.mark.slow
def test_one_set_of_payloads():
    outcome = run(Payloads(seeds=1), lambda text: None)
    assert set(outcome.headline) == {"coverage95_mass", "coverage95_com", "rms_over_bound"}
    assert [row["link"] for row in outcome.rows] == [
        "torso_link",
        "left_wrist_yaw_link",
        "right_wrist_yaw_link",
        "hand",
    ]
    assert outcome.headline["rms_over_bound"] < 3 and outcome.headline["coverage95_com"] > 0.5
