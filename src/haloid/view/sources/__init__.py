"""What can be shown: each source becomes a `Show`."""
