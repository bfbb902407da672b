"""What an identification found: values, error bars, blind spots, files."""
