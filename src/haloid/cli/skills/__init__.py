"""Commands about motions and policies."""
