"""What makes a command fail."""


class CommandError(Exception):
    """A command can't be done. The text is one line: what is wrong and what to do about it."""
