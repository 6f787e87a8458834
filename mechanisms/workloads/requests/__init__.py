"""`requests`: short transfers, each requested at its time; several flows may share the arrivals."""
