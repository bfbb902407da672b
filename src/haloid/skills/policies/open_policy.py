"""Skills, a policy by any of its names: the ONNX file, policy.pt, or the folder of a training, ready to run.

In: a path. Out: a `DeployedPolicy`, or the ONNX file that it runs: the one given, a training's own if it is not older
than its policy.pt, or a temporary one made from policy.pt.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.skills.policies.deployed import DeployedPolicy


def open_policy(path: Path) -> DeployedPolicy:
    with onnx_of(path) as file:
        return DeployedPolicy(file)


@contextmanager
def onnx_of(policy: Path) -> Iterator[Path]:
    """The ONNX file of a policy; a temporary one is deleted after the block."""
    if not policy.exists():
        raise HaloidError(f"{policy} does not exist. Give a policy.onnx, a policy.pt, or the folder of a training")
    if policy.is_file() and policy.suffix != ".pt":
        yield policy
        return
    torch_file = policy / "policy.pt" if policy.is_dir() else policy
    onnx_file = torch_file.with_suffix(".onnx")
    current = onnx_file.is_file() and (
        not torch_file.is_file() or onnx_file.stat().st_mtime_ns >= torch_file.stat().st_mtime_ns
    )
    if current and policy.is_dir():
        yield onnx_file
        return
    require_extra("evaluate", "learn", "torch")
    from haloid.skills.policies.export import export_onnx
    from haloid.skills.policies.policy import load_policy

    with tempfile.TemporaryDirectory() as folder:
        export_onnx(load_policy(torch_file), Path(folder) / "policy.onnx")
        yield Path(folder) / "policy.onnx"
