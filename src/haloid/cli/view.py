"""`haloid view`: look at a recording, an identification, a motion, a rollout or a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import require_extra

if TYPE_CHECKING:
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.task.robot import TrackedRobot
    from haloid.view.show import Show

EXPORTS = (".html", ".mp4", ".gif")


@dataclass(frozen=True)
class Config:
    """See the robot move, in the browser: a recording, an identification, a motion, a rollout or a policy.

    An identification shows the commands of a loaded recording replayed on the calibrated model, or the nominal one, the
    measured robot as a ghost, and the payload with the region its centre of mass is in. A policy runs live and can be
    pushed. The page is served to this machine alone; --export writes a file instead.

    Examples:
        haloid view out/demo
        haloid view logs/loaded-1.csv
        haloid view squat
        haloid view out/squat --model out/result/calibrated.xml
        haloid view out/demo --export demo.html
    """

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WHAT")]
    """A recording or log, the folder of an identification or of a training, a policy, a rollout, or a motion."""
    model: str | None = None
    """The robot of a motion, rollout or policy: g1, a model file, or a patch.json."""
    recording: Path | None = None
    """Of an identification: the log to replay; by default the first loaded one it was made from."""
    motion: str | None = None
    """Of a policy that follows several: which one."""
    host: str = "127.0.0.1"
    """Address to serve at; 0.0.0.0 lets other machines in."""
    port: int = 8080
    """Port to serve at; 0: any that is free."""
    export: Path | None = None
    """Write NAME.html (a page that needs no server), NAME.mp4 or NAME.gif, and serve nothing."""


def run(config: Config) -> None:
    if config.export is not None:
        _export(config, config.export)
        return
    require_extra("view", "view", "viser")
    from haloid.view.open import kind_of
    from haloid.view.server import require_free

    require_free(config.host, config.port)
    if kind_of(config.what)[0] == "policy":
        _serve_policy(config)
    else:
        with console.progress("Loading"):
            show = _show(config)
        _serve_show(config, show)


def _export(config: Config, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix not in EXPORTS:
        raise HaloidError(f"--export {path}: expected a name that ends in {', '.join(EXPORTS)}")
    if suffix == ".html":
        require_extra("view", "view", "viser")
        from haloid.view.page import write_page as write
    else:
        from haloid.view.film import check_film
        from haloid.view.film import write_film as write

        check_film(path)
    with console.progress("Loading"):
        show = _show(config)
    with console.progress("Drawing") as say:
        write(show, path, say)
    console.wrote(path)
    console.next_command("view", config.what)


def _show(config: Config) -> Show:
    from haloid.view.open import kind_of, open_show

    if kind_of(config.what)[0] != "policy":
        return open_show(config.what, model=config.model, recording=config.recording)
    from haloid.skills.policies.open_policy import onnx_of

    require_extra("view", "learn", "onnx", "onnxruntime", "mjbatch")
    from haloid.view.live import show_policy

    with onnx_of(Path(config.what)) as file:
        return show_policy(*_policy_and_robot(config, file), config.motion)


def _policy_and_robot(config: Config, file: Path) -> tuple[DeployedPolicy, TrackedRobot]:
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.task.robot import tracked_robot

    policy = DeployedPolicy(file)
    return policy, tracked_robot(config.model or "g1", clamp=policy.clamp, for_pictures=True)


def _serve_show(config: Config, show: Show) -> None:
    from haloid.view.browser import Playback
    from haloid.view.server import start_server

    server = start_server(config.host, config.port, _say)
    _serve(server, Playback(server, show), show.title)


def _serve_policy(config: Config) -> None:
    require_extra("view", "learn", "onnx", "onnxruntime", "mjbatch")
    from haloid.skills.policies.open_policy import onnx_of
    from haloid.view.live import LivePolicy
    from haloid.view.live_browser import LiveStage
    from haloid.view.server import start_server

    with onnx_of(Path(config.what)) as file:
        with console.progress("Loading"):
            live = LivePolicy(*_policy_and_robot(config, file), config.motion)
        server = start_server(config.host, config.port, _say)
        _serve(server, LiveStage(server, live, config.what), config.what)


def _serve(server, stage, title: str) -> None:
    """Until Ctrl-C, which is how a viewer ends."""
    from haloid.view.server import LOOPBACK, address, stop

    port = server.get_port()
    console.results.print(f"{title} is at {address(server)}; Ctrl-C ends it", soft_wrap=True)
    if server.get_host() == LOOPBACK:
        console.results.print(
            f"from another machine: ssh -L {port}:{LOOPBACK}:{port} THIS-MACHINE, then the same address"
        )
    try:
        stage.run()
    except KeyboardInterrupt:
        stop(server)
        _say("ended")


def _say(words: str) -> None:
    console.messages.print(words, soft_wrap=True)
