"""`haloid record`: play an excitation on the simulated lab robot and write what its log would hold."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.robots.entries import DEFAULT_ROBOT, USUAL_CLAMP

if TYPE_CHECKING:
    from haloid.lab.closed_loop import Policy
    from haloid.lab.robot import LabRobot
    from haloid.lab.sensors import Sensors


@dataclass(frozen=True)
class Config:
    """Record the simulated lab robot: recordings, and the truth beside them.

    Writes NAME.csv and NAME.json (NAME-1, NAME-2, ... for several runs) and NAME.truth.json, which holds what an
    identification should find and is only for comparison. A robot that falls is not recorded.

    Examples:
        haloid record -o out/unloaded --aged 3 --runs 3
        haloid record -o out/loaded --aged 3 --runs 3 --payload halo-1 --seed 100
        haloid record -o out/box --load torso_link 4 0 0 0.02 --noise 0.0005
        haloid record -o out/played --excitation out/plan --payload halo-1 --rollout
        haloid record -o out/explored --support double --policy out/explore/policy.onnx --payload halo-1
        haloid record -o out/other --simulator genesis --timestep 0.001 --aged 3 --payload halo-1
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """NAME to write the recordings to."""
    robot: str = DEFAULT_ROBOT
    """A known robot, or the path of an MJCF or URDF file."""
    clamp: str | None = USUAL_CLAMP
    """The link held fixed in the world; usual: the one that haloid robots show names; None: a fixed base."""
    support: Literal["single", "double"] = "single"
    """double: the other foot rests on the floor."""
    payload: Literal["none", "halo-1", "halo-2", "halo-3"] = "none"
    """One of HALO's perturbation settings, on torso and hands."""
    load: Annotated[tuple[tuple[str, float, float, float, float], ...], tyro.conf.UseAppendAction] = ()
    """LINK KG X Y Z: make a link heavier and shift its CoM by X Y Z m in its frame; may be repeated."""
    aged: int | None = None
    """Seed of the robot's wear: links, joint friction and damping, rotors. None: as in its data sheet."""
    strength: float = 0.0
    """Spread of the aged robot's motor strengths: 0.02 is ±2 %."""
    gains: str | None = None
    """A gain set of the robot, or model for the position servos in its own file. None: stiff where the robot has that
    set, or the policy's own."""
    noise: float = 0.0005
    """Standard deviation of the encoders' noise, rad."""
    bias: float = 0.0
    """Spread of the encoders' bias, ± rad; the same in every run."""
    delay: float = 0.0
    """Command delay, s."""
    drop: float = 0.0
    """Share of rows lost from the log."""
    velocity: bool = False
    """Record joint velocities as well."""
    excitation: Path | None = None
    """A plan that haloid excite wrote; None: a multi-sine of its own for every run."""
    policy: Path | None = None
    """An exploration policy (policy.onnx) that follows its motion in closed loop, in double support."""
    duration: float = 10.0
    """Length of a multi-sine, s."""
    runs: int = 1
    """Number of runs, each with an excitation and noise of its own."""
    timestep: float = 0.005
    """Simulation step, s."""
    simulator: Literal["mujoco", "genesis"] = "mujoco"
    """What moves the robot; genesis: another simulator, which make genesis sets up, for single support."""
    rollout: bool = False
    """Write NAME.rollout.npz too: the robot's true motion and the targets, as haloid rollouts check reads them."""
    seed: int = 0
    """Seed of the first run; later runs count up from it."""


def run(config: Config) -> None:
    from haloid.cli.runs import runs_table
    from haloid.excite.plan import read_plan
    from haloid.lab.excitation import Excitation
    from haloid.lab.genesis.lab import GenesisLab
    from haloid.lab.play import in_mujoco
    from haloid.lab.record import record
    from haloid.lab.truth import write_runs

    if config.runs < 1:
        raise HaloidError(f"--runs is {config.runs}; expected at least 1")
    if config.strength and config.aged is None:
        raise HaloidError("--strength is a spread of the aged robot; give --aged SEED as well")
    out = config.out.with_suffix("") if config.out.suffix in (".csv", ".json") else config.out
    robot, sensors = _robot(config), _sensors(config)
    excitation = Excitation(duration_s=config.duration)
    if config.policy is not None:
        robot, excitation = _explorer(config, robot)
    elif config.excitation is not None:
        excitation = read_plan(config.excitation, robot)
    if config.simulator == "genesis":
        _check_genesis(config)
    recorded, simulator = [], None
    with console.progress("Recording") as say, ExitStack() as opened:
        simulate = in_mujoco
        if config.simulator == "genesis":
            say("Genesis compiles the robot, which may take two minutes")
            simulate = opened.enter_context(GenesisLab())
            simulator = simulate.name_of(robot.built)
        for number in range(config.runs):
            say(f"run {number + 1} of {config.runs}")
            name = out.name if config.runs == 1 else f"{out.name}-{number + 1}"
            seed = config.seed + number
            recorded.append(record(robot, sensors, excitation, seed=seed, name=name, simulate=simulate))
    files = write_runs(recorded, out.parent, out.parent)
    if config.rollout:
        from haloid.lab.rollout import rollout_of_run
        from haloid.trajectories.rollout_file import write_rollout

        for recording, truth in recorded:
            rollout = rollout_of_run(robot, truth, simulator)
            files.append(write_rollout(rollout, out.parent / f"{recording.name}.rollout.npz"))
    console.print_table(runs_table(recorded))
    for file in files:
        console.wrote(file)
    console.next_command("inspect", files[0])


def _check_genesis(config: Config) -> None:
    from haloid.lab.genesis.process import genesis_python

    if config.support != "single" or config.policy is not None:
        raise HaloidError(
            "--simulator genesis plays the clamped robot on one foot; leave out --support double and --policy, or "
            "record in MuJoCo"
        )
    genesis_python()


def _robot(config: Config) -> "LabRobot":
    from haloid.lab.aging import Aging
    from haloid.lab.loads import Load, halo_setting
    from haloid.lab.robot import LabRobot

    loads = () if config.payload == "none" else halo_setting(int(config.payload.removeprefix("halo-")), config.robot)
    loads += tuple(Load(link, mass_kg, (x, y, z)) for link, mass_kg, x, y, z in config.load)
    return LabRobot(
        robot=config.robot,
        clamp=config.clamp,
        support=config.support,
        loads=loads,
        aging=None if config.aged is None else Aging(seed=config.aged, strength_fraction=config.strength),
        gains=config.gains,
        timestep_s=config.timestep,
    )


def _explorer(config: Config, robot: "LabRobot") -> "tuple[LabRobot, Policy]":
    """The robot with the policy's gains, and the policy as the lab plays it."""
    if config.excitation is not None or config.gains is not None or config.support != "double":
        raise HaloidError(
            "--policy brings its own motion and gains, for a robot on two feet; leave out --excitation and --gains and "
            "give --support double"
        )
    require_extra("record --policy", "learn", "onnx", "onnxruntime")
    from haloid.robots.servos import Gains
    from haloid.skills.evaluation.exploration import lab_policy
    from haloid.skills.policies.deployed import DeployedPolicy

    assert config.policy is not None
    policy = DeployedPolicy(config.policy)
    facts = policy.facts
    kp, kd = (dict(zip(facts.joint_names, gain.tolist(), strict=True)) for gain in (facts.kp, facts.kd))
    robot = replace(robot, gains=Gains(kp, kd))
    imu_site = robot.built.description.imu_site
    return robot, lab_policy(policy, robot.built.joint_names, robot.clamp, imu_site)


def _sensors(config: Config) -> "Sensors":
    from haloid.lab.sensors import Sensors

    return Sensors(
        noise_rad=config.noise,
        bias_rad=config.bias,
        delay_s=config.delay,
        drop_fraction=config.drop,
        measure_velocity=config.velocity,
    )
