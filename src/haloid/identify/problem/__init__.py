"""The least-squares problem: unknowns, priors, residuals and their normal equations."""
