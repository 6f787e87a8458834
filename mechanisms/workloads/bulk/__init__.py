"""`bulk`: each connection sends for as long as the flow lasts; over UDP, at a constant bit rate."""
