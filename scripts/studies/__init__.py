"""Run the studies that fairc was made for, in full, and write the results into their pages
(`make studies`).
"""
