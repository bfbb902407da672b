"""Training of an operator, the supervised way, in three stages.

    sensors    the predictor learns what the simulator answers to 20 probe commands (GAPONet alone)
    labels     the network learns the delta action of every frame, solved beforehand (`frames.delta_labels_rad`)
    whole runs the corrected simulator is run for a second from recorded states, and the network learns, for every state
               that it led to itself, the delta action of the frame, which leads back to the recording (DAgger)

The last stage is what keeps errors from adding up. Gradients through the simulator were tried in its place: the
network's own feedback multiplies over a second of steps, and trainings went astray. A run that strays by more than
`FAR_RAD` is put back onto the recording. Every few iterations the same runs are judged again; the best network is kept.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.operator.features import observe
from haloid.gap.operator.frames import Frames, delta_labels_rad
from haloid.gap.operator.networks import PROBES, GapOperator, Learned, NetworkConfig, make_network
from haloid.gap.operator.sticking import Sticking
from haloid.setting_limits import check_settings

PROBE_RAD = 0.5
DECAY = 1.0
"""Of weights (AdamW), against what a few logs have in common by chance."""
SMALL_RAD = 0.02
"""Errors of a delta action count by their square below this, by their size above."""
FAR_RAD = 0.5
"""A run with any joint further from the recording is lost."""
JUDGED_EVERY = 10
"""Iterations between two judgements of the whole runs."""
_LIMITS = {
    "duration": (1, 1000),
    "sensor_epochs": (0, 100_000),
    "label_epochs": (0, 100_000),
    "iterations": (0, 10_000_000),
    "window_s": (0.01, 600.0),
    "batch": (1, 100_000),
    "rate": (1e-9, 1.0),
    "seed": (0, 2**32 - 1),
}
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainConfig:
    """How it is trained."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    method: Literal["supervised", "ppo"] = "supervised"
    """From delta actions that are solved beforehand, or by PPO as in the paper (gap/ppo/operator.py)."""
    duration: int = 1
    """Control steps for which a delta action is held."""
    sensor_epochs: int = 5
    label_epochs: int = 12
    iterations: int = 400
    """Of learning on runs of its own."""
    window_s: float = 1.0
    """Length of those runs."""
    batch: int = 64
    """Runs at once."""
    rate: float = 1e-3
    """Adam's learning rate at the start; it falls to a twentieth."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)
        if self.method == "ppo" and self.network.kind == "sticking":
            raise HaloidError("--network sticking is fitted in one step, not by --method ppo; leave out one of them")


@dataclass(frozen=True)
class _Runs:
    loss: torch.Tensor
    """How far its delta actions were from those of the frames."""
    error: float
    """Mean distance from the recording, rad."""
    times_lost: int
    """Steps after which a run was put back onto the recording."""


@dataclass(frozen=True)
class PlayedStep:
    """One control step of all runs."""

    now: np.ndarray
    """(B,) the frames that they were to be in before it."""
    said_rad: torch.Tensor
    """(B, n)"""
    off_rad: np.ndarray
    """(B, n) where they ended, less the recording."""
    off_rad_s: np.ndarray
    lost: np.ndarray
    """(B,) which are put back onto the recording."""


class Training:
    """The state of a training; `stages` yields after every piece of work, so that it can be stored and resumed."""

    def __init__(self, frames: Frames, models: BaseModels, config: TrainConfig) -> None:
        torch.manual_seed(config.seed)
        self.frames, self.models, self.config = frames, models, config
        network = make_network(frames.joints, config.network)
        assert not isinstance(network, Sticking)  # few_logs.py fits it
        self.network: Learned = network
        self.random = np.random.default_rng((config.seed, 11))
        self.stage, self.done = "sensors", 0
        self.losses: list[float] = []
        self.least, self._best = np.inf, copy.deepcopy(self.network.state_dict())
        self._tensors = {
            name: torch.as_tensor(getattr(frames, name), dtype=torch.float32)
            for name in ("q_rad", "dq_rad_s", "target_rad", "payload_kg")
        }
        self._usable = np.flatnonzero(frames.has_next)
        self._labels_rad = torch.as_tensor(delta_labels_rad(frames, models), dtype=torch.float32)
        few = slice(None, None, max(1, len(self._usable) // 5000))
        self.network.features.fit(self._observations(self._usable[few]), self._labels_rad[self._usable])
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=config.rate, weight_decay=DECAY)

    def _observations(self, frames: np.ndarray, aside_rad: torch.Tensor | float = 0.0) -> torch.Tensor:
        """Of recorded states, with joints (K, n) aside of where they were."""
        q, dq, target = self._past(frames)
        if isinstance(aside_rad, torch.Tensor):
            q = q + aside_rad[:, None]
        return observe(q, dq, target, self._tensors["payload_kg"][torch.as_tensor(frames)])

    def run(self) -> Iterator[tuple[str, float]]:
        """Yields a line about the progress and the share of the stage that is done."""
        if self.stage == "sensors":
            if isinstance(self.network, GapOperator):
                yield from self._learn_sensors(self.network)
            self._next("labels")
        if self.stage == "labels":
            yield from self._learn_labels()
            self._next("runs")
        if self.stage == "runs":
            yield from self._learn_runs()
            self._next("done")

    def _next(self, stage: str) -> None:
        self.stage, self.done = stage, 0
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=self.config.rate, weight_decay=DECAY)

    def _learn_sensors(self, network: GapOperator) -> Iterator[tuple[str, float]]:
        """Responses are those of the linearised simulator; probes are offsets of the target from the joints."""
        offsets = np.random.default_rng(7).uniform(-PROBE_RAD, PROBE_RAD, (PROBES, self.frames.joints))
        frames = self._usable
        responses = self._responses(frames, offsets)
        spread = np.maximum(responses.std(axis=0), 1e-4)
        wanted = torch.as_tensor((responses - responses.mean(axis=0)) / spread, dtype=torch.float32)
        for epoch in range(self.done, self.config.sensor_epochs):
            for rows in self._batches(len(frames)):
                loss = torch.nn.functional.mse_loss(network.sensors(self._observations(frames[rows])), wanted[rows])
                self._step(loss)
            self.done = epoch + 1
            yield f"sensors, epoch {epoch + 1} of {self.config.sensor_epochs}, loss {loss.item():.3f}", self._share()

    def _responses(self, frames: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(K, 20·2n) Δq and Δdq·dt of every probe, or the state after it."""
        f, n, dt = self.frames, self.frames.joints, 1 / self.frames.rate_hz
        unit = np.repeat([1.0, dt], n)
        command = f.q_rad[frames][:, None] + offsets - (f.target_rad + f.guess_rad)[frames][:, None]
        after = f.next_state[frames][:, None] + np.einsum("kai,kpi->kpa", f.by_command[frames], command)
        if self.config.network.sensors == "change":
            after = after - f.state[frames][:, None]
        return (after * unit).reshape(len(frames), -1)

    def _learn_labels(self) -> Iterator[tuple[str, float]]:
        """Joints are put aside by as much as the gap itself: a network that saw recorded states alone would learn to go
        on from wherever it is, and a run of its own would drift."""
        gap_rad = self._labels_rad[self._usable].square().mean(0).sqrt()
        for epoch in range(self.done, self.config.label_epochs):
            total = []
            self._set_rate(epoch / self.config.label_epochs)
            for rows in self._batches(len(self._usable), 256):
                frames = self._usable[rows]
                aside_rad = gap_rad * torch.randn(len(rows), len(gap_rad))
                said_rad = self.network(self._observations(frames, aside_rad))
                total.append(self._step(self._label_loss(said_rad, frames)))
            self.done = epoch + 1
            yield f"labels, epoch {epoch + 1} of {self.config.label_epochs}, loss {np.mean(total):.4f}", self._share()

    def _label_loss(self, said_rad: torch.Tensor, frames: np.ndarray) -> torch.Tensor:
        """The delta action of a frame holds nearby too: the servo leads back to the recording."""
        return torch.nn.functional.smooth_l1_loss(said_rad, self._labels_rad[frames], beta=SMALL_RAD) / SMALL_RAD

    def _batches(self, count: int, size: int = 1024) -> Iterator[np.ndarray]:
        order = self.random.permutation(count)
        yield from (order[first : first + size] for first in range(0, count, size))

    def _learn_runs(self) -> Iterator[tuple[str, float]]:
        config, f = self.config, self.frames
        steps = min(round(config.window_s * f.rate_hz), int(np.diff(f.start).min()) - 1)
        ends = f.start[np.searchsorted(f.start, self._usable, side="right")]
        starts = self._usable[self._usable + steps < ends]
        judged = np.random.default_rng(13).choice(starts, config.batch)
        uncorrected = self._uncorrected(judged, steps)
        if not self.done:
            self._judge(judged, steps)
        for iteration in range(self.done, config.iterations):
            self._set_rate(iteration / config.iterations)
            self.losses.append(self._learn_from(starts, steps))
            self.done = iteration + 1
            if self.done % JUDGED_EVERY == 0 or self.done == config.iterations:
                self._judge(judged, steps)
            recent = np.mean(self.losses[-20:])
            yield f"whole runs, iteration {iteration + 1} of {config.iterations}, loss {recent:.4f}", self._share()
        self.network.load_state_dict(self._best)
        if self.least > uncorrected:
            _LOG.warning(
                "the correction makes the runs it was trained on worse: their error is %.3g, without it %.3g. Train "
                "for more iterations, or on more data",
                self.least,
                uncorrected,
            )

    def _learn_from(self, starts: np.ndarray, steps: int) -> float:
        """One iteration of runs that begin at some of `starts`; its loss."""
        return self._step(self._run(self.random.choice(starts, self.config.batch), steps).loss)

    @torch.no_grad()
    def _judge(self, judged: np.ndarray, steps: int) -> None:
        """Keeps the network if none was better on the same runs."""
        error = self._run(judged, steps).error
        if error < self.least:
            self.least, self._best = error, copy.deepcopy(self.network.state_dict())

    @torch.no_grad()
    def _uncorrected(self, judged: np.ndarray, steps: int) -> float:
        """The error of the simulator alone; raises where it cannot follow the recording at all."""
        runs = self._run(judged, steps, corrected=False)
        lost = runs.times_lost
        if lost > 0.5 * steps * len(judged):
            raise HaloidError(
                f"the simulator that is to be corrected is not stable under these commands: in {lost} of "
                f"{steps * len(judged)} steps from recorded states it went further than {FAR_RAD:g} rad astray. Replay "
                "a log on it (haloid replay), and calibrate its servos or lower its time step first"
            )
        return runs.error

    def _set_rate(self, share: float) -> None:
        """It falls to a twentieth over a stage."""
        for group in self._optimizer.param_groups:
            group["lr"] = self.config.rate * 0.05**share

    def _run(self, chosen: np.ndarray, steps: int, corrected: bool = True) -> _Runs:
        """Of the corrected simulator from the frames `chosen`."""
        error, times_lost = 0.0, 0
        losses = []
        for step in self._play(chosen, steps, self.network if corrected else None):
            if corrected:
                losses.append(self._label_loss(step.said_rad, step.now))
            off_rad = np.where(step.lost[:, None], FAR_RAD, np.abs(step.off_rad))
            error += float(off_rad.mean()) / steps
            times_lost += int(step.lost.sum())
        return _Runs(torch.stack(losses).mean() if losses else torch.zeros(()), error, times_lost)

    def _play(
        self, chosen: np.ndarray, steps: int, act: Callable[[torch.Tensor], torch.Tensor] | None
    ) -> Iterator[PlayedStep]:
        """Runs of the simulator from the frames `chosen`, corrected by what `act` says to an observation."""
        t, f, h = self._tensors, self.frames, self.config.network.history
        payload = t["payload_kg"][torch.as_tensor(chosen)]
        crowd = self.models.crowd(f.payload_kg[chosen], f.rate_hz)
        crowd.put(f.q_rad[chosen], f.dq_rad_s[chosen])
        past = self._past(chosen)
        said_rad = torch.zeros(len(chosen), f.joints)
        for step in range(steps):
            now, then = chosen + step, chosen + step + 1
            if act is not None and step % self.config.duration == 0:
                q, dq, target = past
                said_rad = act(observe(q, dq, target, payload))
            crowd.step(f.heard_rad[now] + said_rad.detach().numpy()[:, None])
            off_rad, off_rad_s = crowd.q_rad - f.q_rad[then], crowd.dq_rad_s - f.dq_rad_s[then]
            lost = ~(np.abs(off_rad).max(axis=1) < FAR_RAD) | ~np.isfinite(crowd.dq_rad_s).all(axis=1)
            yield PlayedStep(now, said_rad, off_rad, off_rad_s, lost)
            if lost.any():
                kept, there = crowd.state.copy(), ~lost
                crowd.put(f.q_rad[then], f.dq_rad_s[then])
                crowd.state[there] = kept[there]
            seen = (crowd.q_rad, crowd.dq_rad_s, f.target_rad[then])
            news = [torch.as_tensor(one, dtype=torch.float32) for one in seen]
            past = [torch.cat([new[:, None], old[:, : h - 1]], dim=1) for new, old in zip(news, past, strict=True)]
            if lost.any():
                onto = self._past(then)
                put_back = torch.as_tensor(lost)[:, None, None]
                past = [torch.where(put_back, new, old) for new, old in zip(onto, past, strict=True)]

    def _past(self, frames: np.ndarray) -> list[torch.Tensor]:
        """q, dq and target (B, H, n) as recorded."""
        rows = torch.as_tensor(self.frames.history(frames, self.config.network.history))
        return [self._tensors[name][rows] for name in ("q_rad", "dq_rad_s", "target_rad")]

    def _step(self, loss: torch.Tensor) -> float:
        if not torch.isfinite(loss):
            raise HaloidError(
                f"the training diverged: its loss is {loss.item()} in {self.stage}, round {self.done + 1}. Check that "
                "the pairs and the simulator that it corrects hold numbers alone (haloid replay)"
            )
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self._optimizer.step()
        return float(loss.item())

    def _share(self) -> float:
        config = self.config
        total = {"sensors": config.sensor_epochs, "labels": config.label_epochs, "runs": config.iterations}[self.stage]
        return self.done / max(1, total)

    def state_dict(self) -> dict:
        """All that a resumed training needs, except the data."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "stage": self.stage,
            "done": self.done,
            "losses": self.losses,
            "least": self.least,
            "best": self._best,
            "random": json.dumps(self.random.bit_generator.state),
        }

    def load_state_dict(self, state: dict) -> None:
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.stage, self.done, self.losses = state["stage"], state["done"], state["losses"]
        self.least, self._best = state["least"], state["best"]
        self.random.bit_generator.state = json.loads(state["random"])
