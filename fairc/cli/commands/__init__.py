"""The command line of each command: arguments, options, help. One module each, of its name.

Nothing but click is imported here, so that help costs no more than that. What a command does is the
function of the same name in `fairc/cli/NAME.py`, which `Command` (fairc/cli/options.py) imports
when the command is called.
"""
