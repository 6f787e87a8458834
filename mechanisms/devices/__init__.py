"""Devices on the way of packets: a folder each."""
