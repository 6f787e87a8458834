"""`pie`: Proportional Integral controller Enhanced (RFC 8033)."""
