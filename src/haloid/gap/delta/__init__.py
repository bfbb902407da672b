"""Delta action and delta dynamics (ASAP): models of what a simulator lacks, learned from rollouts."""
