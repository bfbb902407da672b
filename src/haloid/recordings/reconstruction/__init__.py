"""Where every body was, from encoders and the clamp (HALO III-A)."""
