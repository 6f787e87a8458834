"""Running what is missing: sweeps, their progress, their lock; clusters; the phase check."""
