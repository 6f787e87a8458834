"""`load`: a client loads a page, each time over a new connection."""
