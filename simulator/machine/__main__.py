# ruff: noqa: PTH100, PTH120
"""Run one of a simulated machine's programs: ``__main__.py PROGRAM ROOT [ITS-OWN-PATH [ARGUMENT ...]]``."""

import os
import sys

if __name__ == "__main__":
    # A sysroot has its own copy of the package, and the interpreter looks nowhere else for it.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

    from simulator.machine.programs import main

    sys.exit(main(sys.argv[1:]))
