"""Which model it was: the sha256 of a compiled model, for files that record what was simulated.

It covers everything MuJoCo keeps of the model (its binary form, as mj_saveModel writes it), options such as the step
included; another version of MuJoCo may give the same robot another hash.
"""

import hashlib

import mujoco
import numpy as np


def model_sha256(model: mujoco.MjModel) -> str:
    content = np.zeros(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, content)
    return hashlib.sha256(content.tobytes()).hexdigest()
