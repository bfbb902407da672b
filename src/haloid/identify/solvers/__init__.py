"""Solvers of the problem, and the fit of one stage."""
