"""The learner's settings as rsl_rl gets them."""

import pytest

from haloid.skills.training.ppo import PpoConfig, cpu_ppo, mjlab_ppo, rsl_rl_config


def test_every_setting_reaches_rsl_rls_algorithm():
    """Values that are nobody's default, read back from the objects that rsl_rl builds of them."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    from rsl_rl.algorithms import PPO
    from tensordict import TensorDict

    config = PpoConfig(
        hidden=(12, 6),
        steps=7,
        epochs=3,
        minibatches=2,
        discount=0.91,
        gae_lambda=0.81,
        learning_rate=3e-4,
        desired_kl=0.03,
        clip=0.13,
        clip_values=True,
        entropy=0.004,
        first_std=0.7,
        max_grad_norm=0.6,
    )
    observed = TensorDict({"actor": torch.zeros(4, 10), "critic": torch.zeros(4, 20)}, batch_size=[4])

    class Env:
        num_envs, num_actions = 4, 5

    ppo = PPO.construct_algorithm(observed, Env(), rsl_rl_config(config), "cpu")  # pyright: ignore[reportArgumentType]
    assert [layer.out_features for layer in ppo.actor.mlp if isinstance(layer, torch.nn.Linear)] == [12, 6, 5]
    assert [layer.in_features for layer in ppo.critic.mlp if isinstance(layer, torch.nn.Linear)] == [20, 12, 6]
    assert ppo.storage.num_transitions_per_env == 7
    assert (ppo.num_learning_epochs, ppo.num_mini_batches, ppo.gamma, ppo.lam) == (3, 2, 0.91, 0.81)
    assert (ppo.learning_rate, ppo.desired_kl, ppo.schedule, ppo.clip_param) == (3e-4, 0.03, "adaptive", 0.13)
    assert (ppo.use_clipped_value_loss, ppo.entropy_coef, ppo.max_grad_norm) == (True, 0.004, 0.6)
    ppo.actor(observed, stochastic_output=True)
    torch.testing.assert_close(ppo.actor.output_std.detach(), torch.full((4, 5), 0.7))


def test_the_two_learners():
    assert (mjlab_ppo().hidden, mjlab_ppo().steps, mjlab_ppo().first_std) == ((512, 256, 128), 24, 1.0)
    assert mjlab_ppo().critic_first == 0
    assert cpu_ppo().first_std < 0.5  # it explores about a controller that stands already
