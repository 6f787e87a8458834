"""`nat`: a router that hides hosts behind ports of its own, and gives them others at times."""
