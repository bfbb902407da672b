"""The notebook runs from its first cell to its last, and finds what the robot carries."""

import os
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "identify_and_train.ipynb"


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for package in ("torch", "rsl_rl", "mjbatch", "onnxruntime", "tensorboard"):
        pytest.importorskip(package)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=dict(os.environ))
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(pages) == 2 and all(page.startswith("<iframe") for page in pages)
    said = "".join(output.get("text", "") for output in outputs)
    found, low, high = map(float, re.findall(r"\d\.\d{3}", said)[:3])
    assert low < found < high and abs(found - 6.0) < 0.2
    assert (tmp_path / "out" / "result" / "calibrated.xml").is_file()
    shown = [output.data["text/plain"] for output in outputs if "data" in output][-1]
    assert shown == "Evaluation('stand', 20 of 20 runs succeed)"


def test_the_notebook_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.outputs or cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
