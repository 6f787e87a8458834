"""This machine: its capabilities, the commands started on it, and leftovers of crashed runs."""
