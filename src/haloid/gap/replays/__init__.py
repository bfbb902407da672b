"""Real data and the simulator: rollouts collected and read, and their targets replayed in the simulator."""
