"""Benchmarks of identification."""
