import numpy as np

from haloid.bench.identification.data import _first_enough, _piece, _settings
from haloid.lab.excitation import Excitation
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors


def rows(*errors_g: float) -> list[dict]:
    return [{"seconds": 2**i, "hands_rms_error_kg": error / 1e3} for i, error in enumerate(errors_g)]


def test_enough_is_the_length_from_which_on_the_error_stays_small():
    assert _first_enough(rows(30, 12, 9, 5)) == 4.0
    assert _first_enough(rows(8, 12, 9, 5)) == 4.0
    assert _first_enough(rows(8, 7)) == 1.0
    assert _first_enough(rows(30, 20)) == 4.0  # more than was tried


def test_pieces_begin_after_the_ramp_and_are_used_whole():
    run, _ = record(LabRobot(), Sensors(measure_velocity=True), Excitation(duration_s=4.0))
    piece = _piece(run, 2)
    assert len(piece.time_s) == 100
    np.testing.assert_array_equal(piece.q_rad, run.q_rad[50:150])
    assert _settings(piece).fragments == 5
