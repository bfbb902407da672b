"""`haloid doctor`: what this installation can do, what is missing for what, and how to get it."""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import haloid
from haloid.cli import console
from haloid.cores import cores_in_words
from haloid.extras import install_command

CORE = ("mujoco", "pin", "numpy", "scipy", "matplotlib", "tyro", "rich")
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "logs": ("logs in MCAP, rosbag2 and parquet", ("mcap", "mcap_ros2", "rosbags", "pyarrow")),
    "learn": (
        "train, evaluate, export, live policies",
        ("torch", "rsl_rl", "mjbatch", "onnx", "onnxruntime", "tensorboard"),
    ),
    "view": ("view in the browser, mp4 films", ("viser", "imageio_ffmpeg")),
    "search": ("identify --solver cma", ("cma",)),
    "mjx": ("identify --engine mjx", ("jax", "mujoco.mjx")),
    "sysid": ("bench sysid", ("mujoco.sysid",)),
    "mjlab": ("train --backend mjlab, on GPUs", ("mjlab",)),
    "cluster": ("benchmarks on many machines", ("ray",)),
}
"""By extra: what it is for, and what it must make importable."""


@dataclass(frozen=True)
class Config:
    """Say what this installation can do, what is missing for what, and how to get it.

    Example:
        haloid doctor
    """


def run(config: Config) -> None:
    from haloid.report import Table

    console.results.print(f"haloid {haloid.__version__}, Python {platform.python_version()}, {_system()}")
    console.results.print(f"{_cores()}; {_gpu()}")
    console.results.print("core: " + ", ".join(f"{name} {_version(name)}" for name in CORE))
    missing = {extra: [name for name in names if not _found(name)] for extra, (_, names) in EXTRAS.items()}
    rows = [
        [extra, purpose, "lacks " + ", ".join(missing[extra]) if missing[extra] else "ready"]
        for extra, (purpose, _) in EXTRAS.items()
    ]
    console.print_table(Table(["extra", "for", "state"], rows))
    console.results.print(_genesis(), soft_wrap=True)
    wanted = [extra for extra, names in missing.items() if names]
    if wanted:
        console.results.print(f"to get everything: {install_command(*wanted)}", soft_wrap=True)
    console.next_command("demo")


def _system() -> str:
    return f"{platform.system()} {platform.machine()}"


def _cores() -> str:
    return f"{cores_in_words()} to use"


def _gpu() -> str:
    """By NVIDIA's own tool: importing torch to ask takes many seconds."""
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        asked = [tool, "--query-gpu=name", "--format=csv,noheader"]
        try:
            names = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True).stdout.split("\n")
            return "GPU: " + ", ".join(name.strip() for name in names if name.strip()) + " (train --backend mjlab)"
        except (OSError, subprocess.SubprocessError):
            return "an NVIDIA driver that does not answer: training runs on the CPU"
    return "no NVIDIA GPU: training runs on the CPU"


def _genesis() -> str:
    """The second simulator is not an extra: it has an environment of its own."""
    from haloid.lab.genesis.process import GenesisMissingError, genesis_python

    try:
        return f"second simulator (record, evaluate --simulator genesis): {genesis_python()}"
    except GenesisMissingError:
        return "second simulator (record, evaluate --simulator genesis): none; to get it: make genesis in a checkout"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
