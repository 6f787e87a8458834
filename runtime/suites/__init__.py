"""Suites: a folder of experiments and of the criteria that their claims decide.

folder     `suite.toml` -> Suite; everything that can be wrong with it, with its line
standing   a suite and its run directories -> how each criterion stands, for each controller
forms      the same as a page, Markdown, JUnit XML and Bencher's JSON
"""
