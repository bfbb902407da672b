"""Skills, the learner: one configuration of PPO for both back ends, turned into rsl_rl's.

In: a `PpoConfig`. Out: the dictionary rsl_rl's PPO is built from. `mjlab_ppo()` is mjlab's G1 tracking task,
`asap_ppo()` ASAP's pre-training; `cpu_ppo()` is what learns fastest on a few cores when the network corrects
feed-forward targets.
"""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class PpoConfig:
    hidden: tuple[int, ...] = (256, 128, 64)
    """Widths of the actor's and the critic's layers."""
    steps: int = 32
    """Control steps of every robot between updates."""
    epochs: int = 5
    minibatches: int = 4
    discount: float = 0.98
    gae_lambda: float = 0.95
    learning_rate: float = 1e-3
    """The actor's first one; it follows the KL divergence."""
    critic_learning_rate: float | None = 1e-3
    """The critic's own, constant. One adaptive rate for both falls until the critic stops learning. None: the
    actor's."""
    desired_kl: float = 0.03
    clip: float = 0.2
    clip_values: bool = False
    entropy: float = 0.005
    """Keeps exploration up. Without it the standard deviation falls to 0.13 before a robot has found out how to step
    after a push, and learning stalls."""
    first_std: float = 0.4
    """Standard deviation of the actions at the start, in units of network output."""
    critic_first: int = 10
    """Iterations at the start in which only the critic learns."""
    max_grad_norm: float = 1.0


def cpu_ppo() -> PpoConfig:
    return PpoConfig()


def mjlab_ppo() -> PpoConfig:
    return PpoConfig(
        hidden=(512, 256, 128),
        steps=24,
        epochs=5,
        learning_rate=1e-3,
        desired_kl=0.01,
        discount=0.99,
        critic_learning_rate=None,
        clip_values=True,
        entropy=0.005,
        first_std=1.0,
        critic_first=0,
    )


def asap_ppo() -> PpoConfig:
    return replace(mjlab_ppo(), entropy=0.01, first_std=0.8)


def rsl_rl_config(ppo: PpoConfig) -> dict[str, Any]:
    """What `rsl_rl.algorithms.PPO.construct_algorithm` reads."""
    model = {"class_name": "MLPModel", "hidden_dims": list(ppo.hidden), "activation": "elu", "obs_normalization": True}
    distribution = {"class_name": "GaussianDistribution", "init_std": ppo.first_std, "std_type": "scalar"}
    return {
        "num_steps_per_env": ppo.steps,
        "obs_groups": {"actor": ["actor"], "critic": ["critic"]},
        "multi_gpu": None,
        "actor": {**model, "distribution_cfg": distribution},
        "critic": dict(model),
        "algorithm": {
            "class_name": "PPO",
            "value_loss_coef": 1.0,
            "use_clipped_value_loss": ppo.clip_values,
            "clip_param": ppo.clip,
            "entropy_coef": ppo.entropy,
            "num_learning_epochs": ppo.epochs,
            "num_mini_batches": ppo.minibatches,
            "learning_rate": ppo.learning_rate,
            "schedule": "adaptive",
            "gamma": ppo.discount,
            "lam": ppo.gae_lambda,
            "desired_kl": ppo.desired_kl,
            "max_grad_norm": ppo.max_grad_norm,
            "rnd_cfg": None,
            "symmetry_cfg": None,
        },
    }
