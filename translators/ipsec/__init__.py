"""The subtree ``ipsec``: who runs the IKE daemon, and how it is stopped and started."""
