"""`bpeline tokenize` beside other ways from files of text to files of ids: `make bench-corpus`.

`tools.py` says how each tool does the job, `inputs.py` writes the files that all read, `job.py` is one job in a process of its own
and what the process took, `tables.py` the record, `__main__.py` the turns.
"""
