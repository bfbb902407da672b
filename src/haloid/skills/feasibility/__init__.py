"""Feasible references: whether a robot has the torque, support and friction for a motion, and mending it if not."""
