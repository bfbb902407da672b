"""Robots' own logs: bags, tables and datasets become a `Log`, a `Log` on one clock becomes a `Recording`."""
