"""What is kept: the run folder, raw artefacts in one file, tidy tables."""
