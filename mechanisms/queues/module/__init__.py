"""`module`: a queueing discipline of the user's own."""
