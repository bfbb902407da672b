"""Cores: how many of the machine's this process may use, which a container or `taskset` may have reduced."""

import os


def usable_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def cores_in_words() -> str:
    """Such as "2 cores"."""
    cores = usable_cores()
    return f"{cores} core{'s' * (cores > 1)}"
