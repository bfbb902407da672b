"""What motors and further sensors of a rolled-out robot show, and how it changes with state and parameters."""
