"""`fq`: fair queueing with one queue per flow."""
