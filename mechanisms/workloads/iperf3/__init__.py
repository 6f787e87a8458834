"""`iperf3`: the program, with `count` parallel streams."""
