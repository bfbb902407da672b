"""The payload operator (GAPONet): from past states and commands and a payload to a correction of the command."""
