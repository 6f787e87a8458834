"""A lowered configuration and a repetition to a cell."""
