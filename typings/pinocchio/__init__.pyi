# Pinocchio's wheel installs outside of the folders a type checker looks in: take every name of it as it comes.
from typing import Any

def __getattr__(name: str) -> Any: ...
