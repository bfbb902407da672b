"""What is shown from an identification where there is only text: the table of the payload links and a few lines."""

from __future__ import annotations

from haloid.identify.results.answer import Answer
from haloid.report.html.parts import Table
from haloid.report.quantities import Quantity, by_link, payload_quantities


def payload_table(answer: Answer) -> Table:
    """One line per quantity."""

    def cells(q: Quantity) -> list[str]:
        return [q.text(q.value), f"± {q.text(q.half95)}", q.text(q.nominal)]

    note = "± is half of the 95 % interval. Mass and CoM are the link's with its payload."
    return by_link(["", "value", "95 %", "nominal"], shown_quantities(payload_quantities(answer)), cells, note)


def shown_quantities(quantities: list[Quantity]) -> list[Quantity]:
    """Those worth a line on the screen; the report has the payload's own CoM and inertia too."""
    return [q for q in quantities if not q.name.startswith(("payload CoM", "payload inertia"))]


def summary_lines(answer: Answer) -> list[str]:
    rms = {name: f"{1e3 * value:.3f}" for name, value in answer.rms_rad.items()}
    lines = [f"fit: {rms['heldout']} mrad rms on held-out data, against {rms['nominal']} mrad for the nominal model"]
    lines += [_sensor_line(name, noise) for name, noise in answer.sensor_noise.items()]
    lines += [f"warning: {doubt}" for doubt in answer.doubts]
    lines += [blind.why for blind in answer.payload_blind]
    if not answer.white:
        lines.append(
            f"the residuals are not white (lag-1 correlation {answer.lag1:+.2f}): the model leaves something out"
        )
    if not answer.converged:
        lines.append("the solver reached its iteration limit; raise --iterations")
    return lines


def _sensor_line(name: str, noise: dict[str, float]) -> str:
    unit, (least, most) = {"torque": "N·m", "gyro": "rad/s"}[name], (min(noise.values()), max(noise.values()))
    return f"{name}: compared too, weighted by a noise of {least:.2g} to {most:.2g} {unit}"


def plain_text(table: Table) -> str:
    """The table in columns of text.

    >>> print(plain_text(Table(["", "mass (kg)"], [["torso_link", 13.6], ["pelvis", 3.8]], "With its load.")))
                mass (kg)
    torso_link       13.6
    pelvis            3.8
    With its load.
    """
    rows, numeric = [list(table.columns), *table.texts()], table.numeric_columns()
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, table.note] if table.note else lines)
