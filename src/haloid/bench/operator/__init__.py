"""Benchmarks of the payload operator (GAPONet), always beside what calibrated parameters do."""
