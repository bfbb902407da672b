"""Skills in mjlab, robots that differ: this package's `Randomisation` (HALO's Table I, and mjlab's) as mjlab's events.

In: ranges. Out: startup events; every robot draws once. As on the CPU, a link whose mass changes keeps its shape:
I' = I·m'/m about its centre of mass. mjlab's own `dr.body_mass` leaves the inertia, and its `dr.pseudo_inertia` scales
both but draws factors, not kilograms.
"""

from collections.abc import Sequence
from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg, RecomputeLevel, requires_model_fields
from mjlab.managers.scene_entity_config import SceneEntityCfg

from haloid.robots.description import Robot
from haloid.skills.task.randomisation import LEAST_MASS_RATIO, Randomisation, Range

FEET = r"^(left|right)_foot[1-7]_collision$"
"""The capsules of mjlab's G1 that touch the floor."""


@requires_model_fields("body_mass", "body_inertia", recompute=RecomputeLevel.set_const)
def mass_offset(
    env: ManagerBasedRlEnv, env_ids: torch.Tensor | None, offset_kg: Range, asset_cfg: SceneEntityCfg
) -> None:
    """Adds a uniform offset to the mass of each link, a draw of its own, and scales the link's inertia with it."""
    if env_ids is None:
        env_ids = torch.arange(env.num_envs, device=env.device)
    body_ids = env.scene[asset_cfg.name].indexing.body_ids[asset_cfg.body_ids]
    mass_kg = env.sim.get_default_field("body_mass")[body_ids]
    inertia = env.sim.get_default_field("body_inertia")[body_ids]
    offset = torch.empty(len(env_ids), len(body_ids), device=env.device).uniform_(*offset_kg)
    ratio = ((mass_kg + offset) / mass_kg).clamp(min=LEAST_MASS_RATIO)
    rows = env_ids[:, None]
    env.sim.model.body_mass[rows, body_ids] = ratio * mass_kg
    env.sim.model.body_inertia[rows, body_ids] = ratio[..., None] * inertia


def randomisation_events(ranges: Randomisation, robot: Robot) -> dict[str, EventTermCfg]:
    """By mjlab's names where it has the event too; ranges that are 0 throughout make none."""
    torso, hands = _links(robot.anchor), _links(*robot.hands.values())
    events = {}
    if _any(*ranges.torso_com_m):
        events["base_com"] = _com(torso, ranges.torso_com_m)
    if _any(ranges.torso_mass_kg):
        events["torso_mass"] = _startup(mass_offset, asset_cfg=torso, offset_kg=ranges.torso_mass_kg)
    if _any(ranges.hands_com_m):
        events["hands_com"] = _com(hands, [ranges.hands_com_m] * 3)
    if _any(ranges.hands_mass_kg):
        events["hands_mass"] = _startup(mass_offset, asset_cfg=hands, offset_kg=ranges.hands_mass_kg)
    if _any(ranges.encoder_bias_rad):
        events["encoder_bias"] = _startup(
            dr.encoder_bias, asset_cfg=SceneEntityCfg("robot"), bias_range=ranges.encoder_bias_rad
        )
    if ranges.foot_friction is not None:
        feet = SceneEntityCfg("robot", geom_names=FEET)
        events["foot_friction"] = _startup(
            dr.geom_friction, asset_cfg=feet, operation="abs", ranges=ranges.foot_friction, shared_random=True
        )
    return events


def _any(*ranges: Range) -> bool:
    return any(end != 0.0 for ends in ranges for end in ends)


def _startup(function: Any, **params: Any) -> EventTermCfg:
    return EventTermCfg(mode="startup", func=function, params=params)


def _com(links: SceneEntityCfg, offset_m: Sequence[Range]) -> EventTermCfg:
    return _startup(dr.body_com_offset, asset_cfg=links, operation="add", ranges=dict(enumerate(offset_m)))


def _links(*names: str) -> SceneEntityCfg:
    return SceneEntityCfg("robot", body_names=names)
