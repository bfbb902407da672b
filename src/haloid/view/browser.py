"""A show in the browser: the robot, a panel to steer time with, and curves that follow.

In: a `Show` and a running server. The server's thread answers the panel; `Playback.run` moves the time on.
"""

import time
from threading import RLock

import numpy as np
import viser

from haloid.report.pictures.loads import ENLARGEMENTS, enlargement
from haloid.view.plot import Plot
from haloid.view.show import Show
from haloid.view.stage import StagedRobot, place_choice, set_up

FRAMES_PER_S = 25
SPEEDS = ("0.1 ×", "0.25 ×", "0.5 ×", "1 ×", "2 ×", "4 ×")


class Playback:
    """Time, and everything that depends on it."""

    def __init__(self, server: viser.ViserServer, show: Show) -> None:
        self._server, self._show, self._lock = server, show, RLock()
        self._time_s, self._robot_name = 0.0, show.first_robot
        set_up(server, show.model, show.robots[show.first_robot][0], ghost=show.ghost is not None)
        self._robot = StagedRobot(server.scene, "robot", show.model)
        self._ghost = None if show.ghost is None else StagedRobot(server.scene, "ghost", show.model, ghost=True)
        self._loads: list[viser.MeshHandle | viser.LabelHandle] = []
        self._add_panel()
        self._draw()

    @property
    def time_s(self) -> float:
        return self._time_s

    def go_to(self, time_s: float) -> None:
        """Show this moment, on the slider too."""
        with self._lock:
            self._time_s = float(np.clip(time_s, 0.0, self._show.duration_s))
            self._slider.value = round(self._time_s, 3)
            self._draw()

    def run(self) -> None:
        """Play until interrupted; time stops while no browser is connected."""
        last_s = time.monotonic()
        while True:
            time.sleep(1 / FRAMES_PER_S)
            now_s, before_s = time.monotonic(), last_s
            last_s = now_s
            if self._playing and self._server.get_clients():
                moved_s = self._time_s + (now_s - before_s) * float(self._speed.value.split()[0])
                self.go_to(moved_s if moved_s <= self._show.duration_s else 0.0)

    def _draw(self) -> None:
        with self._lock, self._server.atomic():
            row = self._show.row_at(self._time_s)
            self._robot.pose(self._show.robots[self._robot_name][row])
            if self._ghost is not None and self._show.ghost is not None:
                self._ghost.pose(self._show.ghost[1][row])
            for plot in self._plots:
                plot.mark(self._time_s)

    def _add_panel(self) -> None:
        gui, show = self._server.gui, self._show
        gui.add_markdown(f"**{show.title}**\n\n" + "\n".join(f"- {line}" for line in show.about))
        self._add_clock(gui)
        self._add_choices(gui)
        self._joint = gui.add_dropdown("Joint", show.joint_names, initial_value=show.liveliest_joint())
        self._plots: list[Plot] = []
        for title, curves in self._curves().items():
            self._plots.append(Plot(gui, title, show.time_s, curves))

        @self._joint.on_update
        def _(event: viser.GuiEvent) -> None:
            with self._lock:
                for plot, (title, curves) in zip(self._plots, self._curves().items(), strict=True):
                    plot.show(title, curves)

    def _add_clock(self, gui: viser.GuiApi) -> None:
        show = self._show
        self._playing = False
        step_s = float(np.median(np.diff(show.time_s))) if len(show.time_s) > 1 else 0.01
        self._slider = gui.add_slider("Time (s)", 0.0, max(round(show.duration_s, 3), step_s), round(step_s, 4), 0.0)
        button = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY)
        self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1 ×")

        @self._slider.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:  # moved by hand, not by `go_to`
                with self._lock:
                    self._time_s = self._slider.value
                    self._draw()

        @button.on_click
        def _(event: viser.GuiEvent) -> None:
            self._playing = not self._playing
            button.label = "Pause" if self._playing else "Play"
            button.icon = viser.Icon.PLAYER_PAUSE if self._playing else viser.Icon.PLAYER_PLAY

    def _add_choices(self, gui: viser.GuiApi) -> None:
        show = self._show
        if len(show.robots) > 1:
            choice = gui.add_dropdown("Model", tuple(show.robots), initial_value=self._robot_name)

            @choice.on_update
            def _(event: viser.GuiEvent) -> None:
                with self._lock:
                    self._robot_name = choice.value
                    for handle in self._loads:
                        handle.visible = self._robot_name in show.loaded
                    self._draw()

        if self._ghost is not None and show.ghost is not None:
            place_choice(gui, self._ghost, f"{show.ghost[0]} (blue)".capitalize())
        if show.loads:
            self._add_loads(gui)

    def _add_loads(self, gui: viser.GuiApi) -> None:
        loads = list(self._show.loads)
        lines = "\n".join(f"- {line}" for line in self._show.load_lines())
        gui.add_markdown(f"**Payload** (orange; pink: 95 % region of its centre of mass)\n\n{lines}")
        times = gui.add_dropdown(
            "Region enlarged", tuple(f"{n} ×" for n in ENLARGEMENTS), initial_value=f"{enlargement(loads)} ×"
        )

        def draw() -> None:
            for handle in self._loads:
                handle.remove()
            self._loads = self._robot.add_loads(loads, float(times.value.split()[0]))
            for handle in self._loads:
                handle.visible = self._robot_name in self._show.loaded

        draw()

        @times.on_update
        def _(event: viser.GuiEvent) -> None:
            with self._lock:
                draw()

    def _curves(self) -> dict[str, dict[str, np.ndarray]]:
        """By the plot's title: the angles, and where there is a ghost how far the others are from it."""
        show, joint = self._show, self._joint.value
        column = show.joint_names.index(joint)
        angles = {name: curve[:, column] for name, curve in show.curves_rad.items()}
        plots = {f"{joint} (rad)": angles}
        if show.ghost is not None and show.ghost[0] in angles:
            compared = {n: 1e3 * (c - angles[show.ghost[0]]) for n, c in angles.items() if n != show.ghost[0]}
            plots[f"difference from {show.ghost[0]} (mrad)"] = compared
        return plots
