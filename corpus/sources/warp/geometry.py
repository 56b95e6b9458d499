# SPDX-License-Identifier: Apache-2.0
"""Warp structures traversed by threads: meshes with their trees, hash grids, volumes."""

import warp as wp


@wp.struct
class Ray:
    origin: wp.vec3
    direction: wp.vec3


@wp.kernel(module="rays")
def cast(mesh: wp.uint64, rays: wp.array(dtype=Ray), colours: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    ray = rays[i]
    hit = wp.mesh_query_ray(mesh, ray.origin, ray.direction, 1.0e6)
    if hit.result:
        colours[i] = hit.normal * 0.5 + wp.vec3(0.5, 0.5, 0.5)


@wp.kernel(module="neighbours")
def density(grid: wp.uint64, places: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), radius: float):
    i = wp.hash_grid_point_id(grid, wp.tid())
    total = float(0.0)
    for j in wp.hash_grid_query(grid, places[i], radius):
        apart = wp.length(places[i] - places[j])
        if apart < radius:
            total += wp.pow(1.0 - apart / radius, 3.0)
    out[i] = total


FORWARD = {"enable_backward": False}
CASES = {
    "rays": ("rays", FORWARD),
    "neighbours": ("neighbours", FORWARD),
    "neighbours-lines": ("neighbours", FORWARD | {"lineinfo": True}),
}
