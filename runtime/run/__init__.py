"""Run directories: missing cells run by sweeps, with progress and lock; clusters; the phase check;
verification; what a run says of its plan's claims.
"""
