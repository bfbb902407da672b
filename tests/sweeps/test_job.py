"""What may be a job, word for word."""

import doctest

import numpy as np
import pytest

from haloid.sweeps import job
from haloid.sweeps.job import Job, JobError

EXPECTED = "expected a dictionary, list, string, number, boolean or None."


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a b", "x" * 101, "ü"])
def test_a_name_must_make_a_folder(name):
    with pytest.raises(JobError) as caught:
        Job(name, "package:function")
    assert str(caught.value) == (
        f"The name of a job is {name!r}; it becomes the name of a folder: expected 1 to 100 of the characters "
        "A-Z a-z 0-9 . _ + - with a letter or digit first."
    )


@pytest.mark.parametrize("function", ["module.function", "module:", ":function", "a b:c", "module:Class.method"])
def test_a_function_is_named_by_its_module(function):
    with pytest.raises(JobError) as caught:
        Job("a", function)
    assert str(caught.value) == f"The function of the job a is {function!r}; expected «package.module:function»."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": {"b": [1, {2}]}}, f"['a']['b'][1] is of type set; {EXPECTED}"),
        ({"a": np.float32(1)}, f"['a'] is of type numpy.float32; {EXPECTED}"),
        ({"a": np.float64("inf")}, "['a'] is inf; expected a finite number, or None for what is not known."),
        ({"a": {1: 2}}, "['a'] has the key 1; expected a string."),
        ({1: 2}, "the dictionary has the key 1; expected a string."),
    ],
)
def test_arguments_fit_in_a_json_file(arguments, message):
    with pytest.raises(JobError) as caught:
        Job("a", "package:function", arguments)
    assert str(caught.value) == f"The arguments of the job a do not fit in a JSON file: {message}"


def test_the_same_arguments_are_the_same_after_a_file():
    given = {"seeds": (1, 2), "rate": np.float64(0.1), "motion": "süß", "wide": True, "model": None}
    assert Job("a", "p:f", given).description() == {
        "function": "p:f",
        "arguments": {"seeds": [1, 2], "rate": 0.1, "motion": "süß", "wide": True, "model": None},
    }


def test_the_examples_in_the_docstrings():
    found = doctest.testmod(job)
    assert found.attempted >= 1 and found.failed == 0
