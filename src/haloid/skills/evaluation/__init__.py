"""Evaluation: runs of a deployed policy and how well they follow the motion."""
