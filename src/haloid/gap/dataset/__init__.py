"""Data for learning the gap: what a robot did, frame by frame beside what its simulator makes of the same commands."""
