"""Trajectories: states of a robot over time, and the files they are kept in."""
