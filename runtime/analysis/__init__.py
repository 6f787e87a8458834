"""The analysis of one cell: measurement, metrics, validity, conditions, HAR."""
