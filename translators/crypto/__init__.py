"""What the kernel and the CPU compute: the sources, and the verdicts that several translators draw from them."""
