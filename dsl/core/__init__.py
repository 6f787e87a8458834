"""Core of the front end: sources and spans, diagnostics, units, values, kinds,
registries.
"""
