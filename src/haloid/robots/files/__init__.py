"""Model files: what is written, what is left out, and how a model is recognised."""
