"""Skills, the policy as it is deployed: an ONNX file and nothing else.

In: policy.onnx of this package, of mjlab or in their contract (export.py). Out: a `DeployedPolicy`: observations and a
frame index go in, joint targets come out; and the facts and the clip, all read from the file. The file takes one robot
at a time, as it does on the robot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from haloid.errors import HaloidError, one_line
from haloid.skills.task.clamped import Clamp, clamp_of
from haloid.skills.task.observations import actor_term_names, history_lengths
from haloid.skills.task.reference import Poses, Reference
from haloid.skills.task.robot import TrackedRobot

INPUTS = ("obs", "time_step")
CLIP = tuple(Poses.__dataclass_fields__)
METADATA = ("joint_names", "joint_stiffness", "joint_damping", "default_joint_pos", "observation_names")
METADATA += ("action_scale", "anchor_body_name", "body_names")


class PolicyFileError(HaloidError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{path} is not a tracking policy: {found}. Expected the ONNX file that haloid export or mjlab writes"
        )


@dataclass(frozen=True)
class DeployedFacts:
    """What the file says of itself. Joint vectors in the order of `joint_names`."""

    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    anchor: str
    kp: np.ndarray
    kd: np.ndarray
    default_joint_pos_rad: np.ndarray
    action_scale_rad: np.ndarray
    state_estimation: bool
    motions: tuple[str, ...]
    first_frames: tuple[int, ...]
    run: str
    clamp: str | None
    """The link that was held fixed in training."""
    history: int
    """Readings of its sensors that the policy sees, the current one included."""
    phase: bool = False
    """Whether all it sees of the motion is its phase."""


class DeployedPolicy:
    def __init__(self, path: Path) -> None:
        self.path = path
        model = _load(path)
        self.facts = _facts(path, {entry.key: entry.value for entry in model.metadata_props})
        self.frames = _frames(path, model)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise PolicyFileError(path, f"onnxruntime cannot run it («{one_line(error)}»)") from error
        self.observation_width = int(self._session.get_inputs()[0].shape[1])
        self.clip = self._read_clip()
        if self.clip.joint_pos.shape[1] != len(self.facts.joint_names):
            raise PolicyFileError(path, f"its clip moves {self.clip.joint_pos.shape[1]} joints and it names others")

    def __repr__(self) -> str:
        return f"DeployedPolicy({str(self.path)!r}, {self.frames} frames of {', '.join(self.facts.motions)})"

    @property
    def clamp(self) -> Clamp | None:
        """Where the link that was held fixed in training is held: where the clip has it."""
        facts, clip = self.facts, self.clip
        if facts.clamp is None:
            return None
        return clamp_of(facts.clamp, facts.body_names, clip.body_pos_w, clip.body_quat_w)

    def actions(self, observations: np.ndarray, time_steps: np.ndarray) -> np.ndarray:
        """(N, n) of (N, width) observations and (N,) frame indices, one robot after the other."""
        steps = np.asarray(time_steps, dtype=np.float32).reshape(-1, 1, 1)
        rows = np.ascontiguousarray(observations, dtype=np.float32)[:, None]
        answers = [
            np.asarray(self._session.run(["actions"], {"obs": row, "time_step": step})[0])
            for row, step in zip(rows, steps, strict=True)
        ]
        return np.concatenate(answers)

    def targets_rad(self, actions: np.ndarray) -> np.ndarray:
        """(N, n) what is sent to the servos: default + scale·action."""
        return self.facts.default_joint_pos_rad + self.facts.action_scale_rad * actions

    def motion_row(self, motion: str | None) -> int:
        """Which of the file's motions is meant; None: the only one."""
        motions = self.facts.motions
        if motion is None and len(motions) == 1:
            return 0
        if motion not in motions:
            found = "none was chosen" if motion is None else f"it does not follow «{motion}»"
            raise HaloidError(f"{self.path}: {found}. Choose one of its motions: {', '.join(motions)}")
        return motions.index(motion)

    def reference(self, robot: TrackedRobot, motion: str | None = None) -> Reference:
        """One motion of the clip in the robot's order of joints and tracked bodies; `first_frame` tells where it is."""
        row = self.motion_row(motion)
        ends = (*self.facts.first_frames[1:], self.frames)
        frames = np.arange(self.facts.first_frames[row], ends[row])
        joints = _rows(self.path, "joint", robot.joint_names, self.facts.joint_names)
        bodies = _rows(self.path, "link", robot.description.tracked_links, self.facts.body_names)
        clip = self.clip.at(frames)
        ordered = Poses(
            joint_pos=clip.joint_pos[:, joints],
            joint_vel=clip.joint_vel[:, joints],
            body_pos_w=clip.body_pos_w[:, bodies],
            body_quat_w=clip.body_quat_w[:, bodies],
            body_lin_vel_w=clip.body_lin_vel_w[:, bodies],
            body_ang_vel_w=clip.body_ang_vel_w[:, bodies],
        )
        return Reference(
            frames=ordered,
            names=(self.facts.motions[row],),
            first=np.array([0]),
            last=np.array([len(frames) - 1]),
            motion_of_frame=np.zeros(len(frames), dtype=int),
        )

    def _read_clip(self) -> Poses:
        observation = np.zeros((1, self.observation_width), dtype=np.float32)
        rows = []
        for frame in range(self.frames):
            inputs = {"obs": observation, "time_step": np.array([[frame]], dtype=np.float32)}
            rows.append(self._session.run(list(CLIP), inputs))
        return Poses(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _load(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise HaloidError(f"{path} cannot be read: the system says «{reason}». Give a policy's ONNX file") from error
    except Exception as error:
        raise PolicyFileError(path, "its content is not ONNX") from error
    inputs, outputs = [entry.name for entry in model.graph.input], [entry.name for entry in model.graph.output]
    missing = [name for name in INPUTS if name not in inputs]
    missing += [name for name in ("actions", *CLIP) if name not in outputs]
    if missing:
        raise PolicyFileError(path, f"it has no {', '.join(missing)} among its inputs {inputs} and outputs {outputs}")
    return model


def _facts(path: Path, metadata: dict[str, str]) -> DeployedFacts:
    missing = [key for key in METADATA if key not in metadata]
    if missing:
        raise PolicyFileError(path, f"its metadata lack {', '.join(missing)}")
    joint_names = tuple(metadata["joint_names"].split(","))
    observed = tuple(metadata["observation_names"].split(","))
    known = {actor_term_names(*seen): seen for seen in ((False, False), (True, False), (False, True))}
    if observed not in known:
        raise PolicyFileError(path, f"it observes {', '.join(observed)}, and not mjlab's terms in mjlab's order")
    state_estimation, phase = known[observed]

    def vector(key: str) -> np.ndarray:
        try:
            values = np.array([float(text) for text in metadata[key].split(",")])
        except ValueError as error:
            raise PolicyFileError(path, f"its {key} are not numbers: {metadata[key]}") from error
        if values.size == 1:
            values = np.repeat(values, len(joint_names))  # mjlab writes one number where all joints share it
        if len(values) != len(joint_names):
            raise PolicyFileError(path, f"it has {len(values)} values of {key} for {len(joint_names)} joints")
        return values

    return DeployedFacts(
        joint_names=joint_names,
        body_names=tuple(metadata["body_names"].split(",")),
        anchor=metadata["anchor_body_name"],
        kp=vector("joint_stiffness"),
        kd=vector("joint_damping"),
        default_joint_pos_rad=vector("default_joint_pos"),
        action_scale_rad=vector("action_scale"),
        state_estimation=state_estimation,
        phase=phase,
        motions=tuple(metadata.get("motions", "clip").split(",")),
        first_frames=tuple(int(text) for text in metadata.get("first_frames", "0").split(",")),
        run=metadata.get("run_path", ""),
        clamp=metadata.get("clamp") or None,
        history=_history(path, metadata, observed),
    )


def _history(path: Path, metadata: dict[str, str], observed: Sequence[str]) -> int:
    """Older files do not say how many readings they want: one."""
    told = metadata.get("observation_terms_history_length", "")
    lengths = [int(text) for text in told.split(",")] if told else [0] * len(observed)
    readings = max(*lengths, 1)
    if lengths not in (history_lengths(observed, readings), [int(readings == 1)] * len(observed)):
        raise PolicyFileError(
            path, f"its terms have histories of {told} readings, expected the same but for the command"
        )
    return readings


def _frames(path: Path, model: onnx.ModelProto) -> int:
    """Length of the clip: the first size of the table that the output `joint_pos` is looked up in."""
    sizes = {tensor.name: tensor.dims[0] for tensor in model.graph.initializer if tensor.dims}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].t.dims:
            sizes[node.output[0]] = node.attribute[0].t.dims[0]
        if "joint_pos" in node.output and node.op_type == "Gather" and node.input[0] in sizes:
            return int(sizes[node.input[0]])
    raise PolicyFileError(path, "the table of joint angles behind its output joint_pos was not found")


def _rows(path: Path, what: str, wanted: Sequence[str], named: Sequence[str]) -> list[int]:
    missing = [name for name in wanted if name not in named]
    if missing:
        raise HaloidError(
            f"{path} does not know the robot's {what}s {', '.join(missing)}. Evaluate it on the robot it was made for"
        )
    return [list(named).index(name) for name in wanted]
