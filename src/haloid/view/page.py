"""A show as one HTML file that needs no server and no network: viser's own client with the scene recorded inside.

Over it lies a panel (panel.html) with the facts and the curves of a joint to choose; its mark follows the time that the
client's slider shows.
"""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import viser

from haloid.outputs import atomic_file
from haloid.report.pictures.loads import enlargement
from haloid.view.look import dressed
from haloid.view.plot import COLOURS, OTHER_COLOUR
from haloid.view.server import LOOPBACK, start_server, stop
from haloid.view.show import Show
from haloid.view.stage import BESIDE_M, StagedRobot, set_up

FRAMES_PER_S = 25
MOST_POINTS = 300
PANEL = Path(__file__).with_name("panel.html")


def write_page(show: Show, path: Path, say: Callable[[str], None] = lambda detail: None) -> None:
    """Write the page, whole or not at all."""
    with atomic_file(path) as beside:
        server = start_server(LOOPBACK, 0, lambda words: None)
        try:
            text = _recorded(server, show, say)
        finally:
            stop(server)
        beside.write_text(text, encoding="utf-8")


def _recorded(server: viser.ViserServer, show: Show, say: Callable[[str], None]) -> str:
    poses = show.robots[show.first_robot]
    set_up(server, show.model, poses[0], ghost=show.ghost is not None)
    robot = StagedRobot(server.scene, "robot", show.model)
    ghost = None if show.ghost is None else StagedRobot(server.scene, "ghost", show.model, ghost=True)
    if ghost is not None:
        ghost.root.position = (0.0, BESIDE_M, 0.0)
    robot.add_loads(show.loads, enlargement(list(show.loads)))
    serializer = server.get_scene_serializer()
    times_s = np.arange(0.0, show.duration_s + 1e-9, 1 / FRAMES_PER_S)
    for time_s in times_s:
        row = show.row_at(float(time_s))
        robot.pose(poses[row])
        if ghost is not None and show.ghost is not None:
            ghost.pose(show.ghost[1][row])
        serializer.insert_sleep(1 / FRAMES_PER_S)
        say(f"second {time_s:.0f} of {times_s[-1]:.0f}")
    title = f"<title>{html.escape(show.title)}</title>"
    text = re.sub(r"<title>[^<]*</title>", lambda _: title, dressed(serializer.as_html()), count=1)
    client, end = text.rsplit("</body>", 1)
    return f"{client}{_panel(show)}</body>{end}"


def _panel(show: Show) -> str:
    """The facts and the curves, thinned, as the panel's script reads them."""
    rows = np.unique(np.linspace(0, len(show.time_s) - 1, MOST_POINTS).round().astype(int))
    data = {
        "title": show.title,
        "about": [*show.about, *show.load_lines()],
        "time_s": show.time_s[rows].round(3).tolist(),
        "joints": show.joint_names,
        "first": show.joint_names.index(show.liveliest_joint()),
        "curves_rad": {name: curve[rows].T.round(5).tolist() for name, curve in show.curves_rad.items()},
        "colours": {name: COLOURS.get(name, OTHER_COLOUR) for name in show.curves_rad},
        "compared_with": show.ghost[0] if show.ghost is not None and show.ghost[0] in show.curves_rad else None,
    }
    # "<" as an escape: no name can end the script element
    document = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return PANEL.read_text(encoding="utf-8").replace("@DATA@", document)
