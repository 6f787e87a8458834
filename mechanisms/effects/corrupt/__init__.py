"""`corrupt`: bits of packets are flipped, which checksums find."""
