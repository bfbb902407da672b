"""Readers of motion files."""
