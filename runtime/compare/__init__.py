"""Runs and groups over repetitions: tables, comparison, agreement."""
