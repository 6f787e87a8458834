"""`video`: a progressive download, and the player that waits for it."""
