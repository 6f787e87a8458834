"""`pep`: two proxies that split the TCP connections across a link."""
