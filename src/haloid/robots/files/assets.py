"""Robots, a detail of loading and writing: geometry in mesh, texture or height-field files leaves the spec.

Loading drops what needs a file that is missing; writing drops what needs any file, so that the result stands alone.

Inertias stay as the file states them. A body whose inertia would have come from a dropped geometry is an error:
guessing it would silently bias everything identified afterwards.
"""

from pathlib import Path

import mujoco
import numpy as np

from haloid.errors import HaloidError

_READABLE_MESHES = (".stl", ".obj", ".msh")


class InertiaFromMissingFileError(HaloidError):
    def __init__(self, body_name: str, file: str):
        super().__init__(
            f"Body '{body_name}' takes its inertia from the geometry in '{file}', which is missing or unreadable. "
            f"Put the file where the model expects it, or state the inertia with <inertial>."
        )


def drop_missing_assets(spec: mujoco.MjSpec) -> str:
    """Remove, in place, assets without a readable file and all that uses them; say what went ("" where nothing did)."""
    meshes = [mesh for mesh in spec.meshes if not _readable_mesh(spec, mesh)]
    hfields = [hfield for hfield in spec.hfields if not _exists(spec, hfield.compiler.meshdir, hfield.file)]
    skins = [skin for skin in spec.skins if not _exists(spec, skin.compiler.meshdir, skin.file)]
    textures = [texture for texture in spec.textures if not _complete_texture(spec, texture)]
    dropped = _drop(spec, meshes, hfields, skins, textures)
    if dropped is None:
        return ""
    n_geoms, n_files, first = dropped
    return f"dropped {n_geoms} geoms because {n_files} mesh, texture or height-field files are missing (first: {first})"


def drop_file_assets(spec: mujoco.MjSpec) -> str:
    """Remove, in place, all assets that live in files, and all that uses them; say what went ("" where nothing did)."""
    meshes, hfields, skins = (
        [asset for asset in kind if asset.file] for kind in (spec.meshes, spec.hfields, spec.skins)
    )
    textures = [texture for texture in spec.textures if texture.file or any(texture.cubefiles)]
    dropped = _drop(spec, meshes, hfields, skins, textures)
    if dropped is None:
        return ""
    n_geoms, n_files, first = dropped
    return f"left out {n_geoms} geoms because {n_files} mesh, texture or height-field files hold them (first: {first})"


def _drop(spec: mujoco.MjSpec, meshes: list, hfields: list, skins: list, textures: list) -> tuple[int, int, str] | None:
    """Delete these assets and all that uses them: how many geoms and assets went, and the first one's file."""
    files = {asset.name or Path(asset.file).stem: asset.file for asset in [*meshes, *hfields]}
    dropped_geoms = [geom for geom in spec.geoms if (geom.meshname or geom.hfieldname) in files]
    for geom in dropped_geoms:
        if _gives_body_its_inertia(spec, geom):
            raise InertiaFromMissingFileError(geom.parent.name, files[geom.meshname or geom.hfieldname])
    _drop_references(spec, {geom.name for geom in dropped_geoms if geom.name})
    _blank_textures(spec, {texture.name for texture in textures})
    assets = [*meshes, *hfields, *skins, *textures]
    n_geoms, n_assets = len(dropped_geoms), len(assets)
    first = next((asset.file for asset in assets if asset.file), "")
    for element in [*dropped_geoms, *assets]:
        spec.delete(element)
    return (n_geoms, n_assets, first) if n_assets else None


def _exists(spec: mujoco.MjSpec, folder: str, file: str) -> bool:
    """Whether an asset's file is where MuJoCo looks for it; an asset without a file is given in the model itself."""
    if not file:
        return True
    name = Path(file).name if spec.strippath else file
    return (Path(spec.modelfiledir) / folder / name).is_file()


def _readable_mesh(spec: mujoco.MjSpec, mesh: mujoco.MjsMesh) -> bool:
    readable = not mesh.file or Path(mesh.file).suffix.lower() in _READABLE_MESHES
    return readable and _exists(spec, mesh.compiler.meshdir, mesh.file)


def _complete_texture(spec: mujoco.MjSpec, texture: mujoco.MjsTexture) -> bool:
    return all(_exists(spec, texture.compiler.texturedir, file) for file in [texture.file, *texture.cubefiles])


def _gives_body_its_inertia(spec: mujoco.MjSpec, geom: mujoco.MjsGeom) -> bool:
    rule, (group_low, group_high) = spec.compiler.inertiafromgeom, spec.compiler.inertiagrouprange
    from_geoms = rule == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE or (
        rule == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO and not geom.parent.explicitinertial
    )
    has_mass = geom.mass > 0.0 if np.isfinite(geom.mass) else geom.density > 0.0
    in_world = geom.parent.name == spec.worldbody.name
    return from_geoms and has_mass and not in_world and group_low <= geom.group <= group_high


def _drop_references(spec: mujoco.MjSpec, geom_names: set[str]) -> None:
    """Contact pairs and sensors of dropped geoms go with them; MuJoCo would refuse to compile them."""
    for pair in list(spec.pairs):
        if {pair.geomname1, pair.geomname2} & geom_names:
            spec.delete(pair)
    for sensor in list(spec.sensors):
        on_object = sensor.objtype == mujoco.mjtObj.mjOBJ_GEOM and sensor.objname in geom_names
        on_reference = sensor.reftype == mujoco.mjtObj.mjOBJ_GEOM and sensor.refname in geom_names
        if on_object or on_reference:
            spec.delete(sensor)


def _blank_textures(spec: mujoco.MjSpec, texture_names: set[str]) -> None:
    for material in spec.materials:
        for role in range(len(material.textures)):
            if material.textures[role] in texture_names:
                material.textures[role] = ""
