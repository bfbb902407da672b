"""Which joints are worth a line, and how numbers are shown."""

from haloid.identify.inspection.inspect import JointFacts
from haloid.report.inspection import half95_text, joints_table, notable


def joint(name: str, rms_rad: float, saturated_share: float = 0.0, torque_share: float | None = 0.5) -> JointFacts:
    return JointFacts(name, -0.1, 0.1, rms_rad, 1.0, torque_share, saturated_share, 0.0, 1e-4)


def test_all_of_a_few_joints_are_shown():
    joints = [joint(name, 0.1) for name in "abc"]
    assert notable(joints) == joints


def test_of_many_those_at_a_limit_and_the_extremes_are_shown_in_order():
    joints = [joint(name, 0.01 * (1 + i)) for i, name in enumerate("abcdefghi")]
    joints[4] = joint("e", 0.05, saturated_share=0.2)
    assert [one.name for one in notable(joints)] == ["a", "b", "e", "g", "h", "i"]
    assert len(notable([joint(str(i), 0.1, saturated_share=0.1) for i in range(20)])) == 6


def test_shares_are_shown_as_far_as_they_mean_something():
    joints = [joint("a", 0.1, torque_share=None), joint("b", 0.1, saturated_share=0.25, torque_share=99.0)]
    shown = joints_table(joints, 2)
    assert [row[4:] for row in shown.texts()] == [["–", "0 %"], ["> 999 %", "25 %"]]
    assert shown.note == ""
    assert joints_table(joints, 29).note.startswith("2 of 29")


def test_intervals_have_two_digits():
    assert [half95_text(x) for x in (19.3, 1.234, 0.01)] == ["± 38", "± 2.4", "± 0.020"]
