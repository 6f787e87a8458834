"""`prio`: strict priority between queues, by the code points of packets."""
