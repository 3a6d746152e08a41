"""Soak: documents for a long time with a fault every so often, while memory, handles, threads, files and objects are watched.

`./dev bench soak --minutes 60` makes the table and the picture; the test runs a few minutes of the same.
"""
