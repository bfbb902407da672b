"""Commands about logs and recordings."""
