"""`media`: audio and video in frames as they are captured, one way or both."""
