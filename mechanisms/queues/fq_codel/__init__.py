"""`fq_codel`: fair queueing, CoDel in each queue (RFC 8290)."""
