# MuJoCo's wheel has no type information for its compiled modules: take every name of it as it comes.
from typing import Any

def __getattr__(name: str) -> Any: ...
