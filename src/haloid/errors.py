"""The one exception a user meets. Its message says what was found, what was expected and what to do."""


class HaloidError(Exception):
    """Base of every error that is the user's to mend; the command line prints it and exits with status 1."""
