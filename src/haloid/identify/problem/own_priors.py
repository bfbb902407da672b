"""What the user knows better than the package: priors and bounds of parameters, as `PATTERN=STD` or
`PATTERN=STD:LOW:HIGH`.

`*.strength=0.2` takes every motor's strength to be within 20 % (one standard deviation) of nominal,
`elbow.kp=0.5:0.2:3` the elbow's gain to be within 50 % and between 0.2 and 3 times the recorded one. Units are those of
the parameters: kg, m, kg·m², N·m·s/rad, N·m, s, rad, and shares for kp, kd and strength. A later entry wins over an
earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from haloid.engines.physics import LINK_KINDS, Column
from haloid.identify.problem.unknowns import ParameterError, Prior, whole_name


@dataclass(frozen=True)
class OwnPrior:
    pattern: str
    std: float
    low: float = -np.inf
    high: float = np.inf


def parse_priors(entries: Sequence[str]) -> list[OwnPrior]:
    """
    >>> parse_priors(["elbow.kp=0.5:0.2:3"])
    [OwnPrior(pattern='elbow.kp', std=0.5, low=0.2, high=3.0)]
    """
    return [_parse(entry) for entry in entries]


def _parse(entry: str) -> OwnPrior:
    pattern, _, numbers = entry.partition("=")
    try:
        values = [float(word) for word in numbers.split(":")]
    except ValueError:
        values = []
    if (
        not pattern
        or len(values) not in (1, 3)
        or not values[0] > 0
        or (len(values) == 3 and not values[1] < values[2])
    ):
        raise ParameterError(
            f"the prior '{entry}' cannot be read; expected PATTERN=STD or PATTERN=STD:LOW:HIGH with a standard "
            "deviation above 0 and LOW below HIGH, such as '*.strength=0.2' or 'elbow.kp=0.5:0.2:3'"
        )
    return OwnPrior(pattern, *values)


def with_own(
    prior: Prior, columns: Sequence[Column], own: Sequence[OwnPrior]
) -> tuple[Prior, dict[int, tuple[float, float]]]:
    """The prior with the user's standard deviations in it, and the bounds of columns by their number."""
    information, bounds = prior.information.copy(), {}
    for one in own:
        meant = [i for i, column in enumerate(columns) if fnmatchcase(whole_name(column), one.pattern)]
        if not meant:
            raise ParameterError(
                f"the prior of '{one.pattern}' matches none of the parameters that are sought; expected one of these: "
                f"{', '.join(sorted({whole_name(column) for column in columns}))}. Choose it with --base-parameters too"
            )
        for i in meant:
            information[i, :] = information[:, i] = 0.0
            information[i, i] = 1 / one.std**2
            if np.isfinite(one.low) or np.isfinite(one.high):
                if columns[i].kind in LINK_KINDS:
                    raise ParameterError(
                        f"'{one.pattern}' has bounds, which masses, CoMs and inertias cannot have: they always belong "
                        "to a real body. Give only its standard deviation"
                    )
                bounds[i] = (one.low, one.high)
    return Prior(prior.mean, information, prior.box_lower, prior.box_upper, prior.box_weight), bounds
