"""The subtree ``cpu``: what the CPU itself can do for cryptography, and how long it was busy."""
