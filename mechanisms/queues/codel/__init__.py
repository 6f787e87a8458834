"""`codel`: Controlled Delay (RFC 8289)."""
