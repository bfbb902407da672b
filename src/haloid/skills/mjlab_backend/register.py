"""Skills in mjlab, the names: importing this adds the tasks to mjlab's list. mjlab does so through its entry point
`mjlab.tasks`, so that its own commands know them:

    train Haloid-Tracking-G1-Nominal --env.commands.motion.motion-file squat.npz
"""

from mjlab.tasks.registry import register_mjlab_task

from haloid.skills.mjlab_backend.runner import TrackingRunner
from haloid.skills.mjlab_backend.task import runner_cfg, tracking_env_cfg
from haloid.skills.training.ppo import mjlab_ppo


def task_id(randomisation: str, state_estimation: bool) -> str:
    return f"Haloid-Tracking-G1-{randomisation.capitalize()}{'' if state_estimation else '-No-State-Estimation'}"


for _randomisation in ("nominal", "wide"):
    for _state_estimation in (True, False):
        _choice = {"randomisation": _randomisation, "state_estimation": _state_estimation}
        register_mjlab_task(
            task_id=task_id(_randomisation, _state_estimation),
            env_cfg=tracking_env_cfg(**_choice),
            play_env_cfg=tracking_env_cfg(**_choice, play=True),
            rl_cfg=runner_cfg(mjlab_ppo()),
            runner_cls=TrackingRunner,
        )
