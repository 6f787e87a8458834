"""What everything else is said in: sources and spans, diagnostics, units, values, kinds, registries."""
