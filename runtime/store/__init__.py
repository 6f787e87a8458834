"""The store: the run folder, raw artefacts in one file, tidy tables."""
