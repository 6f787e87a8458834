"""A flow as written: its transport and CCA, its workload, its pages."""
