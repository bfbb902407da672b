"""The search of a design: it climbs, it repeats, and it survives designs that do not work out."""

from dataclasses import asdict

import numpy as np

from haloid.skills.controller.design import Design, searched


def distance_from_best(design: Design) -> float:
    """In logarithms, from half the usual torque and three times the usual gyroscope's noise."""
    usual = Design()
    torque = np.log(design.weights.torque_of_limit / (0.5 * usual.weights.torque_of_limit))
    gyro = np.log(design.assumed.gyro_rad_s / (3 * usual.assumed.gyro_rad_s))
    return float(np.hypot(torque, gyro))


def quietly(_: str) -> None:
    pass


def test_a_search_finds_a_better_design():
    found = searched(Design(), lambda design: -distance_from_best(design), 200, 0, quietly)
    assert distance_from_best(found) < 0.2 * distance_from_best(Design())
    assert found.weights.settle_steps == Design().weights.settle_steps  # a count is not a matter of degree


def test_it_is_the_same_every_time_and_tells_how_far_it_is():
    told: list[str] = []
    searches = [
        searched(Design(), lambda one: -distance_from_best(one), 20, 3, tell) for tell in (quietly, told.append)
    ]
    assert asdict(searches[0]) == asdict(searches[1])
    assert told[-1].startswith("design 20 of 20")


def test_where_nothing_is_better_the_start_stays():
    start = Design()
    assert searched(start, lambda design: 1.0 if design is start else -np.inf, 10, 0, quietly) is start
