"""Networks from topologies as written: nodes, links, losses, changes, proxies, devices."""
