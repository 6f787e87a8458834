"""Running missing cells: sweeps, their progress, their lock; clusters; the phase check."""
