"""Benchmarks: one for each table of the papers and each comparison with a peer.

A benchmark is one line in BENCHMARKS and the module named there: a frozen dataclass with its settings (tyro turns them
into options) and a `run(settings, say)` that returns an `Outcome`.
"""

from typing import NamedTuple


class Benchmark(NamedTuple):
    place: str
    """Its module in `haloid.bench`, and the settings there: "MODULE:CLASS"."""
    summary: str


BENCHMARKS = {
    "table2": Benchmark(
        "identification.table2:Table2",
        "HALO's Table II: three payloads, noise-free, from nominal; haloid, gradient descent, CMA-ES.",
    ),
    "table4": Benchmark(
        "identification.table4:Table4",
        "HALO's Table IV: two stages against one on aged robots with noise and friction, 6, 2 and 2 kg.",
    ),
    "noise": Benchmark(
        "identification.noise:Noise",
        "Errors against the Cramér–Rao bound and coverage of the 95 % intervals, at four noise levels.",
    ),
    "double-support": Benchmark(
        "identification.noise:DoubleSupport",
        "The other foot on the floor, Settings 1 to 3: errors without noise, and against the bound at 0.5 mrad.",
    ),
    "payloads": Benchmark(
        "identification.payloads:Payloads",
        "Boxes, balls and bars on the G1 and on a small arm: coverage of the intervals, errors over the bound.",
    ),
    "sysid": Benchmark(
        "identification.sysid:Sysid",
        "The same fragments through mujoco.sysid and through haloid: seconds and accuracy.",
    ),
    "scaling": Benchmark(
        "engines.scaling:Scaling",
        "Seconds of a Jacobian against the number of parameters, fragments and control steps.",
    ),
    "engines": Benchmark(
        "engines.compared:Engines",
        "The engines on the same fragments, on one foot and on both: forward, linearisation, gradient.",
    ),
    "excitation": Benchmark(
        "identification.excitation:ExcitationBench",
        "Optimised motions against multi-sines of the same length and limits: predicted and achieved intervals.",
    ),
    "data": Benchmark(
        "identification.data:Data",
        "Errors against seconds of recording, 1 to 60 s, beside the Cramér–Rao bound.",
    ),
    "second-simulator": Benchmark(
        "identification.second_simulator:SecondSimulator",
        "Aged, loaded robots recorded in Genesis, identified with MuJoCo's model: errors, and the gap that remains.",
    ),
    "real-arm": Benchmark(
        "identification.real_arm:RealArm",
        "Logs of a real SO-101: calibrated on all runs but one, replayed on that one, from four wrong gains.",
    ),
    "lab-arm": Benchmark(
        "identification.lab_arm:LabArm",
        "2.8 kg on an industrial arm from filtered motor currents, drive constants known and unknown within 20 %.",
    ),
    "throughput": Benchmark(
        "skills.throughput:Throughput",
        "Environment steps per second of the whole training loop, split, and against mjlab on the same CPU.",
    ),
    "clips": Benchmark(
        "skills.clips:Clips",
        "Other people's clips: feasible as they are, mended or not, played by the controller, tracked by policies.",
    ),
    "controller": Benchmark(
        "skills.controller:ControllerBench",
        "The model-based controller alone, no learning: WDR, CM and HALO under Setting 1.",
    ),
    "controller-search": Benchmark(
        "skills.controller_search:ControllerSearch",
        "The controller's design searched on robots of Table I at full width, beside the usual design.",
    ),
    "learning": Benchmark(
        "skills.learning:Learning",
        "What learning adds to feed-forward targets, under all of mjlab's noise, pushes and Table I's randomisation.",
    ),
    "learning-time": Benchmark(
        "skills.learning_time:LearningTime",
        "Minutes in which a motion is learned from nothing, to 90 % under all pushes, noise and randomisation.",
    ),
    "table3": Benchmark(
        "skills.table3:Table3",
        "HALO's Table III: WDR, CM and HALO track steady and agile motions under Setting 1.",
    ),
    "walk": Benchmark(
        "skills.locomotion:Walk",
        "HALO's Table V, walking forward and back under Setting 1.",
    ),
    "yaw-jump": Benchmark(
        "skills.locomotion:YawJump",
        "HALO's Table V, the jump with a quarter turn under Setting 1.",
    ),
    "maneuvers": Benchmark(
        "skills.maneuvers:Maneuvers",
        "HALO's Table VI: swallow balance, side kick, roundhouse kick under Setting 1, successes of ten.",
    ),
    "asap-open-loop": Benchmark(
        "delta.open_loop:AsapOpenLoop",
        "ASAP's Table III: recorded targets replayed in corrected simulators, held-out motions, by stand-in.",
    ),
    "asap-closed-loop": Benchmark(
        "delta.closed_loop:AsapClosedLoop",
        "ASAP's Table IV: a policy tracks motions on a stand-in before and after fine-tuning; RL-free uses; noise.",
    ),
    "asap-ablations": Benchmark(
        "delta.ablations:AsapAblations",
        "ASAP's Fig. 10: what a delta model owes to the amount of data, the horizon and the action-norm penalty.",
    ),
    "gaponet-tracking": Benchmark(
        "operator.tracking:Tracking",
        "GAPONet's Fig. 3: Q_dis by joint and payload on an unseen robot; parameters, operator, both, MLP.",
    ),
    "gaponet-delivery": Benchmark(
        "operator.delivery:Delivery",
        "GAPONet's Table 1: where the hands of an unseen robot hold a load, by axis; parameters, operator, both.",
    ),
    "gaponet-ablations": Benchmark(
        "operator.ablations:Ablations",
        "GAPONet's Table 2: history, payload, action duration and what is predicted, on an unseen robot.",
    ),
    "gaponet-real": Benchmark(
        "operator.real:Real",
        "Logs of a real SO-101: operator trained on some runs, played through others; calibration, operator, both.",
    ),
}
