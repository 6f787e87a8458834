"""The commands, one module each, imported when it is called.

    commands      how each is called: arguments, options, help; options: that several share
    console       standard output and standard error
    interruption  Ctrl-C (fairc/start.py: the console script)
    failures      exceptions -> exit statuses and messages
    completion    what a shell offers after TAB
    sources       a file's name -> experiment or compilation, with its diagnostics shown
    targets       a file or a compiled plan -> what is run; unpacking: of a pack, where a run is
                  expected; results: stored results, as tables

    demo, check, fmt, show, trace, plan, compile
    run           conclusion: tables, report and summary; phase: `--phase-check`; collect:
                  `--collect`
    cell, table, report, suite, verdict, methods
    compare       agreement: between engines; baseline: since a stored run
    pack, verify  verify_pack: of a pack
    doctor, calibrate, image, clean, lsp

What they promise: docs/run/cli.md.
"""
