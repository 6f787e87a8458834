"""Raw artefacts of one cell to arrays in SI units: what metrics and validity checks read."""
