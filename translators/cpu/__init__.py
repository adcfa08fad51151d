"""The subtree ``cpu``: what the CPU itself can do for cryptography."""
