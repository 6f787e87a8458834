"""The commands, one module each, imported when it is called.

    commands   how each is called: arguments, options, help
    console    standard output and standard error
    interruption   Ctrl-C (fairc/start.py: the console script)
    failures   exceptions -> exit statuses and messages
    sources    a file's name -> experiment or compilation, with its diagnostics shown
    options    options that several commands share
    check, plan, compile, run, table, report, suite, verdict, methods, compare, pack, verify,
    doctor, image, clean
    the commands

What they promise: docs/run/cli.md.
"""
