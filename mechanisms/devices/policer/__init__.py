"""`policer`: what drops packets of one direction of a link, beyond what users may send or cause."""
