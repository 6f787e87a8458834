"""`measure` and `report`: what is computed and drawn of the cells."""
