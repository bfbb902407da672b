"""Benchmarks of what parameters cannot explain: delta action and delta dynamics (ASAP)."""
