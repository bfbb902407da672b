"""What tests of the tables of skills share: a folder in which the identification is done already."""

from pathlib import Path

import numpy as np
import pytest

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.robots.inertia import LinkParameters, read_links
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, write_patch


@pytest.fixture(scope="session")
def nominal() -> dict[str, LinkParameters]:
    return dict(read_links(load_spec("g1").compile()))


@pytest.fixture(scope="session")
def found(nominal) -> Patch:
    """Everything that an identification may change, changed: loaded links, another link, a joint."""
    links = {
        name: LinkParameters(
            nominal[name].mass_kg + 1.0 + row,
            nominal[name].com_in_link_m + np.array([0.01, 0.02, 0.03]),
            1.2 * nominal[name].inertia_about_com,
        )
        for row, name in enumerate((*PAYLOAD_LINKS, "pelvis"))
    }
    return Patch("g1", links, {"left_knee_joint": {"damping": 0.31}})


@pytest.fixture
def folder(found, tmp_path: Path) -> Path:
    """Of a sweep."""
    for robot in ("identified", "identified-worn"):
        (tmp_path / "sweep" / robot).mkdir(parents=True)
        write_patch(found, tmp_path / "sweep" / robot / "patch.json")
    return tmp_path / "sweep"
