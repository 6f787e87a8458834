"""`cake`: Common Applications Kept Enhanced."""
