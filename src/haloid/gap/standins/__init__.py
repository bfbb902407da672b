"""Stand-ins for the real robot: simulated robots that differ from the model in known ways, each with a name."""
