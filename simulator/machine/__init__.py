"""The programs of a simulated machine. Every sysroot has a copy of this package, which runs there on its own.

Only the standard library is imported, and of it only what starts fast: an agent runs these programs while its
clients wait.
"""
