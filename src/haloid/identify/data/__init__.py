"""From recordings to the fragments that are fitted."""
