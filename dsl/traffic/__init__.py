"""Flows as written: their transports and CCAs, and what they share."""
