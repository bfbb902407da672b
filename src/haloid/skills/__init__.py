"""Skills: motion-tracking policies on the identified model."""
