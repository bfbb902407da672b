"""A live policy in the browser: the robot, its reference as a ghost, and buttons to push it."""

import time
from threading import Lock

import numpy as np
import viser

from haloid.skills.task.reference import CONTROL_HZ
from haloid.view.live import DIRECTIONS, HISTORY_S, LivePolicy
from haloid.view.plot import Plot
from haloid.view.stage import StagedRobot, place_choice, set_up

FRAMES_PER_S = 25
PLOTS_PER_S = 4


class LiveStage:
    def __init__(self, server: viser.ViserServer, live: LivePolicy, title: str) -> None:
        self._server, self._live, self._lock = server, live, Lock()
        self._playing = True
        set_up(server, live.robot.model, live.qpos, ghost=True)
        self._robot = StagedRobot(server.scene, "robot", live.robot.model)
        self._ghost = StagedRobot(server.scene, "ghost", live.robot.model, ghost=True)
        self._add_panel(title)
        self._draw()

    def run(self) -> None:
        """Step in real time until interrupted, or as fast as the machine can; only while a browser is connected."""
        due_s = time.monotonic()
        step = 0
        while True:
            due_s = max(due_s + 1 / CONTROL_HZ, time.monotonic() - 0.1)
            time.sleep(max(due_s - time.monotonic(), 0.0))
            if not (self._playing and self._server.get_clients()):
                continue
            with self._lock:
                self._live.step()
                step += 1
                if step % round(CONTROL_HZ / FRAMES_PER_S) == 0:
                    self._draw()
                if step % round(CONTROL_HZ / PLOTS_PER_S) == 0:
                    self._tell()

    def _draw(self) -> None:
        with self._server.atomic():
            self._robot.pose(self._live.qpos)
            self._ghost.pose(self._live.reference_qpos)

    def _add_panel(self, title: str) -> None:
        gui, live = self._server.gui, self._live
        gui.add_markdown(f"**{title}**")
        self._state = gui.add_markdown(self._words())
        push = gui.add_button("Push", icon=viser.Icon.HAND_FINGER, color="orange")
        direction = gui.add_dropdown("Pushed", tuple(DIRECTIONS))
        speed = gui.add_slider("By (m/s)", 0.05, 1.5, 0.05, 0.4)
        pause, again = gui.add_button("Pause"), gui.add_button("Start again")
        place_choice(gui, self._ghost, "Reference (blue)")
        names = live.robot.joint_names
        self._joint = gui.add_dropdown("Joint", names, initial_value=names[self._liveliest()])
        self._plot = Plot(gui, *self._curves())
        self._plot.mark(0.0)

        @push.on_click
        def _(event: viser.GuiEvent) -> None:
            with self._lock:
                live.push(direction.value, speed.value)

        @pause.on_click
        def _(event: viser.GuiEvent) -> None:
            self._playing = not self._playing
            pause.label = "Pause" if self._playing else "Go on"

        @again.on_click
        def _(event: viser.GuiEvent) -> None:
            with self._lock:
                live.restart()
                self._draw()

    def _tell(self) -> None:
        self._state.content = self._words()
        title, _, curves = self._curves()
        self._plot.show(title, curves)

    def _words(self) -> str:
        live = self._live
        length_s = (len(live.reference) - 1) / CONTROL_HZ
        return (
            f"- {live.motion}: {live.motion_s:.1f} of {length_s:.1f} s\n"
            f"- {1e3 * live.error_m:.0f} mm from the reference\n"
            f"- {live.rounds} times to the end, {live.falls} falls"
        )

    def _liveliest(self) -> int:
        return int(np.argmax(np.ptp(self._live.reference.frames.joint_pos, axis=0)))

    def _curves(self) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
        """Title, time and the last seconds of the chosen joint; the time before the start is left empty."""
        joint = self._joint.value
        column = self._live.robot.joint_names.index(joint)
        rows = round(HISTORY_S * CONTROL_HZ)
        curves = {name: np.full(rows, np.nan) for name in ("policy", "reference")}
        for row, (angles, wanted) in enumerate(reversed(self._live.history), start=1):
            curves["policy"][-row], curves["reference"][-row] = angles[column], wanted[column]
        return f"{joint} (rad), the last {HISTORY_S:.0f} s", (np.arange(rows) + 1 - rows) / CONTROL_HZ, curves
