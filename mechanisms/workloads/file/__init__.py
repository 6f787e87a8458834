"""`file`: each connection moves exactly this number of bytes."""
