"""`radio`: aggregates, slots, repeated transmissions and thinned acknowledgements."""
