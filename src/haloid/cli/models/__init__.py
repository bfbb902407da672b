"""Commands about models of robots."""
