"""A recording's files: csv with json, or npz."""
