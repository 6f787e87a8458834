"""This machine: what it offers, the commands started on it, and what crashed runs left."""
