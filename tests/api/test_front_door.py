"""`import haloid`: quick, complete, and the names that packages and functions share."""

import inspect
import subprocess
import sys
from dataclasses import MISSING, fields

import pytest

import haloid
from haloid.api.identification import identify
from haloid.cli.models.identify import Config
from haloid.identify.settings import Settings

HEAVY = ("numpy", "mujoco", "pinocchio", "matplotlib", "scipy", "torch", "yaml", "tyro", "rich")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_it_loads_nothing_heavy():
    assert python(f"import haloid, sys; print([name for name in {HEAVY!r} if name in sys.modules])") == "[]\n"


def test_every_name_is_there_and_listed():
    for name in haloid.__all__:
        assert getattr(haloid, name) is not None
        assert name in dir(haloid)
    with pytest.raises(AttributeError, match="module 'haloid' has no attribute 'identity'"):
        haloid.identity  # noqa: B018


def test_a_package_of_the_same_name_is_called_as_the_function():
    """Once something below it is imported, `haloid.identify` is the package; modules below it are found as ever."""
    code = "import haloid.identify.checks as checks, haloid\n"
    code += "print(callable(haloid.identify), haloid.identify.checks is checks)"
    assert python(code) == "True True\n"


def test_function_command_and_settings_agree_on_every_setting():
    """Names and defaults: a setting that one of them lacks could not be given there, or would not be in config.yaml."""
    of_function = {name: each.default for name, each in inspect.signature(identify).parameters.items()}
    for field in fields(Settings):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        assert of_function[field.name] == default, field.name
    assert set(of_function) - {field.name for field in fields(Settings)} == {"unloaded", "loaded", "report"}
    renamed = {"timestep": "timestep_s", "noise": "noise_rad", "payload_size": "payload_size_m"}
    of_command = {renamed.get(field.name, field.name): field.default for field in fields(Config)}
    for field in fields(Settings):
        assert of_command[field.name] == field.default, field.name
    beside = {"unloaded", "loaded", "allow_gaps", "out", "config"}
    assert set(of_command) - {field.name for field in fields(Settings)} == beside
