"""Messages are part of the interface: tests check their words."""


def assert_words(message: str, *words: str) -> None:
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"
