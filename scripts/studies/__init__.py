"""Run the studies that fairc was made for, whole, and write what came out into their pages (`make studies`)."""
