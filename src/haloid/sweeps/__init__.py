"""Sweeps: independent jobs (methods × motions × seeds) on this machine or on a Ray cluster, resumable."""
