"""One pure module per file format: parse and render, no I/O, a version each.

Nothing outside this room knows the syntax of a file.
"""
