"""fairc: a declarative language for network experiments, and the tool that runs them."""

__version__ = "0.1.0"
