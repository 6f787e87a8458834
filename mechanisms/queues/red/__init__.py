"""`red`: Random Early Detection (Floyd and Jacobson, 1993)."""
