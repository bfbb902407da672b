"""Commands name the packages they lack and how to get them."""

import pytest

from haloid.errors import HaloidError
from haloid.extras import require_extra


def test_missing_packages_are_named_with_their_extra():
    require_extra("evaluate", "learn", "numpy")
    with pytest.raises(HaloidError) as failure:
        require_extra("evaluate", "learn", "numpy", "no_such_package")
    assert str(failure.value) == (
        "haloid evaluate needs the package no_such_package, which this installation lacks. "
        "Install with: pip install 'haloid[learn]'"
    )
