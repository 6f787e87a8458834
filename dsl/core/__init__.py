"""What everything else builds on: sources and spans, diagnostics, units, values, kinds,
registries.
"""
