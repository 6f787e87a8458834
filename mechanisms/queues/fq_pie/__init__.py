"""`fq_pie`: fair queueing, PIE in each queue."""
