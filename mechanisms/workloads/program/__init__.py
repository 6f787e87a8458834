"""`program`: a server and a client of the user's own, from files next to the experiment."""
