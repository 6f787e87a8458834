"""Core of the front end: what everything else of it is built on.

source       texts, and the places in them
diagnostics  what is wrong, where, why, and what to do; problems: raising and gathering them;
             render: as text or JSON
units        units and dimensions; values: of expressions; literals: as defaults are written
kinds        what a key or a parameter takes; entries: a word with its parameters
registry     a closed set of words; plugins: those of other packages
attachments  files that an experiment names; tars: those of strangers, with bounds
features     what not every engine has
cache        the folder of what fairc has built; on_demand: imports where a name is first used
"""
