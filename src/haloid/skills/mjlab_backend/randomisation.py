"""Skills in mjlab, randomisation: HALO's Table I as mjlab events, drawn once for each robot at the start.

| term | nominal | wide |
| --- | --- | --- |
| base (torso) CoM offset, m, each axis | ±0.03 | ±0.08 |
| torso mass offset, kg | ±0.5 | 2 to 8 |
| hands' mass offset, kg, each | ±0.5 | 1 to 4 |
| hands' CoM offset, m, each axis | ±0.02 | ±0.05 |

Encoder bias (±0.01 rad) and foot friction (0.3 to 1.2) are mjlab's own and the same in both. A link whose mass changes
keeps its shape: its inertia about the centre of mass is scaled by the same factor (mjlab's `dr.body_mass` leaves it).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg, RecomputeLevel, requires_model_fields
from mjlab.managers.scene_entity_config import SceneEntityCfg

from haloid.skills.robot import G1_LAYOUT

LEAST_MASS_FRACTION = 0.1
"""No link gets lighter than this part of its own mass: the G1's hand weighs 0.25 kg, half a kilogram less is none."""


@dataclass(frozen=True)
class Ranges:
    """One column of Table I; uniform, lower and upper end."""

    torso_com_offset_m: tuple[float, float]
    torso_mass_offset_kg: tuple[float, float]
    hand_mass_offset_kg: tuple[float, float]
    hand_com_offset_m: tuple[float, float]


TABLE_1: dict[str, Ranges] = {
    "nominal": Ranges((-0.03, 0.03), (-0.5, 0.5), (-0.5, 0.5), (-0.02, 0.02)),
    "wide": Ranges((-0.08, 0.08), (2.0, 8.0), (1.0, 4.0), (-0.05, 0.05)),
}


@requires_model_fields("body_mass", "body_inertia", recompute=RecomputeLevel.set_const)
def mass_offset(
    env: ManagerBasedRlEnv,
    env_ids: torch.Tensor | None,
    offset_kg: tuple[float, float],
    asset_cfg: SceneEntityCfg,
) -> None:
    """Adds a uniform offset to each link's mass m and scales its inertia with it: I·(m + Δm)/m."""
    if env_ids is None:
        env_ids = torch.arange(env.num_envs, device=env.device)
    body_ids = env.scene[asset_cfg.name].indexing.body_ids[asset_cfg.body_ids]
    default_mass_kg = env.sim.get_default_field("body_mass")[body_ids]
    default_inertia = env.sim.get_default_field("body_inertia")[body_ids]
    offset = torch.empty(len(env_ids), len(body_ids), device=env.device).uniform_(*offset_kg)
    factor = ((default_mass_kg + offset) / default_mass_kg).clamp(min=LEAST_MASS_FRACTION)
    rows = env_ids[:, None]
    env.sim.model.body_mass[rows, body_ids] = factor * default_mass_kg
    env.sim.model.body_inertia[rows, body_ids] = factor[..., None] * default_inertia


def table_1_events(randomisation: Literal["nominal", "wide"]) -> dict[str, EventTermCfg]:
    """The events of Table I that are not mjlab's own, by name; `base_com` takes the place of mjlab's."""
    ranges = TABLE_1[randomisation]

    def links(*names: str) -> SceneEntityCfg:
        return SceneEntityCfg("robot", body_names=names)

    def com(body: SceneEntityCfg, offset_m: tuple[float, float]) -> EventTermCfg:
        params = {"asset_cfg": body, "operation": "add", "ranges": dict.fromkeys(range(3), offset_m)}
        return EventTermCfg(mode="startup", func=dr.body_com_offset, params=params)

    def mass(body: SceneEntityCfg, offset_kg: tuple[float, float]) -> EventTermCfg:
        return EventTermCfg(mode="startup", func=mass_offset, params={"asset_cfg": body, "offset_kg": offset_kg})

    torso, hands = G1_LAYOUT.anchor, G1_LAYOUT.hands
    return {
        "base_com": com(links(torso), ranges.torso_com_offset_m),
        "torso_mass": mass(links(torso), ranges.torso_mass_offset_kg),
        "hands_mass": mass(links(*hands), ranges.hand_mass_offset_kg),
        "hands_com": com(links(*hands), ranges.hand_com_offset_m),
    }
