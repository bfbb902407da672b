"""Pictures of robots, without a graphics card."""
