"""What is computed from the cells, drawn, and decided.

instances    metrics as they are named: `rtt.p95(ping)`; amounts: their numbers that are swept
measures     `measure`; formulas: `metric NAME = ...`
goals        `precision`
facts        what figures and claims are checked against; metric_uses: a metric as they name it
figures      `report`; pairs: of names that are swept together; figure_expressions: of statistics
claims       `claim`; claim_forms: what is compared; claim_readings: one statistic of it;
             claim_units: of each configuration; claim_trends: of a trend
"""
