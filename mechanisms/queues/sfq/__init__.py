"""`sfq`: stochastic fair queueing."""
