"""Whether a recording can be used."""
