"""`measure`, `report` and `claim`: what is computed from the cells, drawn, and decided."""
