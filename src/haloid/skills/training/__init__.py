"""Training: PPO on the task, its run folder, checkpoints, curriculum and trials."""
