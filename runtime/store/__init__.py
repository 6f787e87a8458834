"""The store: the run folder, and tidy tables of it.

folder       complete cells under their keys; occupant: whose a folder is; copying: a plan from
             elsewhere
cell_folder  the folder of one cell; damage: to it; hashes: of files as they were written;
             identity: do cell, key and result agree?
provenance   `lock.json` and `made.json`, read
verdicts     which cells count; baselines: what flows have alone
tables       Parquet files, and queries on them; columns: of each; swept: values as numbers
"""
