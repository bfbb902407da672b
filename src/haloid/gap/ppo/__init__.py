"""Delta action by reinforcement learning, as in ASAP: replays as an environment, Table II's rewards, PPO."""
