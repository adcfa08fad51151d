"""The subtree ``kernel-crypto``: the kernel's table of cryptographic algorithms."""
