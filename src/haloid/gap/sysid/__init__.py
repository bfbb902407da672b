"""Parameters from rollouts: ASAP's grid, and an identification on the same data that a delta model learns from."""
