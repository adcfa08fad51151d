"""The managed machine, by YANG subtree: what a change needs, and what the state is."""
