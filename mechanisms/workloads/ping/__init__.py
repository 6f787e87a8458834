"""`ping`: small packets at regular times that the client returns, to measure round trips."""
