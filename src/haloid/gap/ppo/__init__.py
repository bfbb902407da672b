"""Reinforcement learning of what to add: ASAP's delta action (replays, Table II's rewards), GAPONet's operator."""
