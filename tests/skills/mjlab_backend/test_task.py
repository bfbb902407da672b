"""The tasks that mjlab is given: HALO's randomisation, mjlab's everything else."""

from dataclasses import asdict, replace

import numpy as np
import pytest

pytest.importorskip("mjlab")

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.tasks.registry import list_tasks, load_env_cfg, load_rl_cfg
from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
from mjlab.tasks.tracking.config.g1.rl_cfg import unitree_g1_tracking_ppo_runner_cfg
from tests.skills.mjlab_scene import MjlabScene

from haloid.errors import HaloidError
from haloid.skills.mjlab_backend.randomisation import mass_offset
from haloid.skills.mjlab_backend.register import task_id
from haloid.skills.mjlab_backend.task import runner_cfg, tracking_env_cfg
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.randomisation import LEAST_MASS_RATIO
from haloid.skills.training.ppo import mjlab_ppo, rsl_rl_config
from haloid.trajectories.motion_export import write_motion

pytestmark = pytest.mark.slow

MANY = 48
HANDS = ("left_wrist_yaw_link", "right_wrist_yaw_link")


@pytest.fixture(scope="module")
def wide(motion, tmp_path_factory) -> MjlabScene:
    file = write_motion(motion, tmp_path_factory.mktemp("wide") / "lively.npz")
    return MjlabScene(tracking_env_cfg(randomisation="wide"), file, MANY)


def drawn(scene: MjlabScene, field: str, link: str) -> tuple[np.ndarray, np.ndarray]:
    """Of one link: what the robots have, and what the model has."""
    body = scene.env.sim.mj_model.body(f"robot/{link}").id
    return getattr(scene.env.sim.model, field)[:, body].numpy(force=True), getattr(scene.env.sim.mj_model, field)[body]


@pytest.mark.parametrize(
    ("link", "mass_kg", "com_m"),
    [("torso_link", (2.0, 8.0), 0.08), (HANDS[0], (1.0, 4.0), 0.05), (HANDS[1], (1.0, 4.0), 0.05)],
)
def test_wide_robots_fill_the_ranges_of_table_1_and_inertia_follows_mass(wide, link, mass_kg, com_m):
    mass, model_mass = drawn(wide, "body_mass", link)
    inertia, model_inertia = drawn(wide, "body_inertia", link)
    com, model_com = drawn(wide, "body_ipos", link)
    offset, width = mass - model_mass, mass_kg[1] - mass_kg[0]
    assert mass_kg[0] <= offset.min() < mass_kg[0] + 0.2 * width
    assert mass_kg[1] - 0.2 * width < offset.max() <= mass_kg[1]
    np.testing.assert_allclose(inertia / model_inertia, np.tile(mass / model_mass, (3, 1)).T, rtol=1e-5)
    shift = np.abs(com - model_com)
    assert np.all(shift <= com_m + 1e-6) and np.all(shift.max(axis=0) > 0.8 * com_m)


def test_each_hand_draws_its_own_mass_and_no_other_link_changes(wide):
    left, right = (drawn(wide, "body_mass", hand)[0] for hand in HANDS)
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.5
    for link in ("pelvis", "left_knee_link", "left_elbow_link"):
        mass, model_mass = drawn(wide, "body_mass", link)
        np.testing.assert_array_equal(mass, np.float32(model_mass))


def test_a_light_hand_never_loses_all_its_mass(wide):
    """Table I takes up to 0.5 kg off a hand of 0.25 kg."""
    hands = SceneEntityCfg("robot", body_names=HANDS)
    hands.resolve(wide.env.scene)
    mass_offset(wide.env, None, (-0.5, 0.5), hands)
    mass, model_mass = drawn(wide, "body_mass", HANDS[0])
    inertia, model_inertia = drawn(wide, "body_inertia", HANDS[0])
    assert mass.min() == pytest.approx(LEAST_MASS_RATIO * model_mass)
    np.testing.assert_allclose(inertia.min(axis=0), LEAST_MASS_RATIO * model_inertia, rtol=1e-5)
    assert mass.max() > model_mass + 0.3


def test_mjlabs_own_randomisation_is_given_as_mjlab_gives_it():
    ours, theirs = tracking_env_cfg(randomisation="mjlab").events, unitree_g1_flat_tracking_env_cfg().events
    assert set(ours) == set(theirs)
    for name, event in theirs.items():
        assert (ours[name].func, ours[name].mode) == (event.func, event.mode), name
        assert ours[name].params == event.params, name


def events(cfg: ManagerBasedRlEnvCfg) -> set[str]:
    return set(cfg.events)


def test_only_what_is_randomised_has_an_event():
    table_1 = {"base_com", "torso_mass", "hands_com", "hands_mass", "encoder_bias", "foot_friction"}
    assert events(tracking_env_cfg(randomisation="nominal")) == table_1 | {"push_robot"}
    assert events(tracking_env_cfg(randomisation="wide", difficulty=Difficulty(push=0.0))) == table_1
    assert events(tracking_env_cfg(randomisation="none", difficulty=Difficulty(push=0.0))) == set()
    assert events(tracking_env_cfg(play=True)) == table_1


def test_full_difficulty_is_mjlabs_and_less_is_gentler():
    full, mjlabs = tracking_env_cfg(difficulty=Difficulty(), randomisation="mjlab"), unitree_g1_flat_tracking_env_cfg()
    assert full.commands["motion"] == mjlabs.commands["motion"]
    assert full.observations == mjlabs.observations
    assert full.terminations == mjlabs.terminations
    assert full.events["push_robot"].params == mjlabs.events["push_robot"].params

    half = tracking_env_cfg(difficulty=Difficulty(reset=0.5, push=0.5, noise=0.5, termination=1.5))
    assert half.commands["motion"].pose_range["yaw"] == (-0.1, 0.1)
    assert half.commands["motion"].joint_position_range == (-0.05, 0.05)
    assert half.events["push_robot"].params["velocity_range"]["x"] == (-0.25, 0.25)
    assert half.observations["actor"].terms["joint_vel"].noise.n_max == 0.25
    assert half.terminations["anchor_ori"].params["threshold"] == pytest.approx(1.2)


def test_ppo_is_mjlabs_but_for_its_log():
    ours, theirs = asdict(runner_cfg(mjlab_ppo())), asdict(unitree_g1_tracking_ppo_runner_cfg())
    different = {name for name in theirs if ours[name] != theirs[name]}
    assert different == {"experiment_name", "logger", "upload_model"}
    assert ours["logger"] == "tensorboard"


def test_the_learner_on_the_cpu_gets_mjlabs_settings_too():
    ours, theirs = rsl_rl_config(mjlab_ppo()), asdict(unitree_g1_tracking_ppo_runner_cfg())
    for name, value in theirs["algorithm"].items():
        assert ours["algorithm"].get(name, value) == value, name
    for model in ("actor", "critic"):
        assert tuple(ours[model]["hidden_dims"]) == theirs[model]["hidden_dims"]
        assert ours[model].get("distribution_cfg") == theirs[model]["distribution_cfg"]
    assert ours["num_steps_per_env"] == theirs["num_steps_per_env"]


def test_settings_that_mjlabs_runner_has_not_are_refused():
    with pytest.raises(HaloidError, match="critic_first is 5; mjlab's runner teaches actor and critic from the start"):
        runner_cfg(replace(mjlab_ppo(), critic_first=5))


def test_mjlab_knows_the_tasks_with_and_without_state_estimation():
    names = {task_id(name, estimation) for name in ("nominal", "wide") for estimation in (True, False)}
    assert "Haloid-Tracking-G1-Wide-No-State-Estimation" in names
    assert names <= set(list_tasks())
    actor = load_env_cfg("Haloid-Tracking-G1-Wide-No-State-Estimation").observations["actor"].terms
    assert not {"motion_anchor_pos_b", "base_lin_vel"} & set(actor)
    assert "base_lin_vel" in load_env_cfg("Haloid-Tracking-G1-Wide").observations["actor"].terms
    assert load_rl_cfg("Haloid-Tracking-G1-Nominal").max_iterations == 30_000
