"""The one exception a user meets. Its message says what was found, what was expected and what to do."""

import pickle


class HaloidError(Exception):
    """Base of every error that the user can fix; the command line prints it and exits with status 1."""


def one_line(error: Exception) -> str:
    """What another library's error says, in one line for a message of ours.

    torch's message about a file that holds more than tensors explains how to run what is inside; that is not passed on.
    """
    if isinstance(error, pickle.UnpicklingError):
        return "it is damaged or holds more than tensors and plain values"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
