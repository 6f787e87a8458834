"""`dualpi2`: coupled queues for L4S and classic packets (RFC 9332)."""
