"""`onoff`: a source that sends at a rate, and pauses."""
