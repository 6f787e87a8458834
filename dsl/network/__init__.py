"""From a topology as written to nodes, links, losses, changes, proxies and policers."""
