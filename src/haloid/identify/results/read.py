"""The result of an identification read back from its files.

Comes in: the folder that `write_result` wrote. Goes out: what the files say, and the `Answer` in result.json, which is
the same as the one that was written but for the residuals behind it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from haloid.config_file import read_config_file
from haloid.errors import HaloidError
from haloid.identify.results.answer import Answer, Estimate, PayloadEstimate
from haloid.identify.results.files import COMMAND, FORMAT, Contents, renamed
from haloid.identify.results.identifiability import Blind
from haloid.robots.patch import read_patch


class ResultFileError(HaloidError):
    def __init__(self, file: Path, found: str) -> None:
        super().__init__(
            f"{file} is not the result of an identification: {found}. Expected the folder that haloid identify wrote"
        )


def read_result(folder: Path) -> Contents:
    """What the files say, with whole paths again where the files they name are still there."""

    def whole(path: str) -> str:
        return str((folder / path).resolve()) if (folder / path).exists() else path

    document = _document(folder / "result.json")
    config = read_config_file(folder / "config.yaml", COMMAND)
    contents = Contents(document, config, read_patch(folder / "patch.json"))
    document, config = renamed(contents, whole)
    return replace(contents, document=document, config=config)


def answer_of(document: dict[str, Any]) -> Answer:
    """The answer that a result.json holds."""
    fit = document["fit"]
    blind = [(Blind(entry["parameters"], entry["why"]), entry.get("about")) for entry in document["identifiability"]]
    noise = fit["noise_rad"]
    return Answer(
        links={link: _estimates(kinds) for link, kinds in document["links"].items()},
        joints={joint: _estimates(kinds) for joint, kinds in document["joints"].items()},
        globals=_estimates(document["globals"]),
        payload=[_payload(link, found) for link, found in document["payload"].items()],
        rms_rad={name: fit[f"rms_rad_{name}"] for name in ("train", "heldout", "nominal")},
        lag1=fit["residual_lag1"],
        noise_rad=None if noise is None else np.array(list(noise.values())),
        validation=None,
        blind=[spot for spot, _ in blind],
        payload_blind=[spot for spot, about in blind if about == "payload"],
        converged=document["status"] == "converged",
        doubts=tuple(document.get("doubts", ())),
        coverage95=fit.get("coverage95"),
        sensor_noise=fit.get("sensor_noise", {}),
    )


def _document(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultFileError(file, f"the system says «{(error.strerror or str(error)).lower()}»") from error
    except ValueError as error:
        raise ResultFileError(file, f"it is not JSON ({error})") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise ResultFileError(file, f'its "format" is {json.dumps(found)} and not "{FORMAT}"')
    try:
        answer_of(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultFileError(file, f"an entry is missing or damaged ({error!r})") from error
    return document


def _payload(link: str, found: dict[str, Any]) -> PayloadEstimate:
    nowhere = Estimate(np.full(3, np.nan), np.full(3, np.nan), np.full(3, np.nan))
    com = _estimate(found["com"]) if "com" in found else nowhere
    return PayloadEstimate(
        link, _estimate(found["mass"]), com, _estimate(found["inertia"]) if "inertia" in found else None
    )


def _estimates(found: dict[str, dict[str, Any]]) -> dict[str, Estimate]:
    return {kind: _estimate(values) for kind, values in found.items()}


def _estimate(found: dict[str, Any]) -> Estimate[Any]:
    value, std = found["value"], found["std"]
    if isinstance(value, list):
        nominal = found.get("nominal", [np.nan] * len(value))
        return Estimate(np.array(value, float), np.array(std, float), np.array(nominal, float))
    return Estimate(float(value), float(std), float(found.get("nominal", np.nan)))
