"""Computer vision: the residual Jacobian of bundle adjustment, and a hand of jointed bones.

Source of the problems: ADBench (Šrajer, Kukelova, Fitzgibbon 2018).
"""

from __future__ import annotations

import math

import numpy as np

import s2sad
from tools.bench.kernel import Kernel, compiled


@compiled
def reproject(camera, point, weight, feature):
    """Return the weighted error, in pixels, of one point seen by a camera of eleven parameters.

    The camera is a Rodrigues rotation (3), a centre (3), a focal length, a principal point (2)
    and two radial distortions.
    """
    x, y, z = point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]
    a, b, c = camera[0], camera[1], camera[2]
    square = a * a + b * b + c * c
    if square > 0.0:
        theta = math.sqrt(square)
        cosine, sine = math.cos(theta), math.sin(theta) / theta
        along = (a * x + b * y + c * z) * (1.0 - cosine) / square
        u = x * cosine + (b * z - c * y) * sine + a * along
        v = y * cosine + (c * x - a * z) * sine + b * along
        w = z * cosine + (a * y - b * x) * sine + c * along
    else:
        u = x + b * z - c * y
        v = y + c * x - a * z
        w = z + a * y - b * x
    p, q = u / w, v / w
    radius = p * p + q * q
    scale = camera[6] * (1.0 + camera[9] * radius + camera[10] * radius * radius)
    error = np.empty(2)
    error[0] = weight * (scale * p + camera[7] - feature[0])
    error[1] = weight * (scale * q + camera[8] - feature[1])
    return error


@compiled
def reproject_all(cameras, points, weights, features):
    errors = np.empty((weights.size, 2))
    for i in range(weights.size):
        errors[i] = reproject(cameras[i], points[i], weights[i], features[i])
    return errors


@compiled
def reproject_hand(cameras, points, weights, features):
    """Return the Jacobians by camera, point and weight: the rotation's by hand, once for both rows."""
    n = weights.size
    by_camera, by_point, by_weight = np.empty((n, 2, 11)), np.empty((n, 2, 3)), np.empty((n, 2))
    for i in range(n):
        camera, weight = cameras[i], weights[i]
        x, y, z = points[i, 0] - camera[3], points[i, 1] - camera[4], points[i, 2] - camera[5]
        a, b, c = camera[0], camera[1], camera[2]
        square = a * a + b * b + c * c
        dot = a * x + b * y + c * z
        cosine = sine = rest = theta = 1.0
        if square > 0.0:
            theta = math.sqrt(square)
            cosine, sine = math.cos(theta), math.sin(theta) / theta
            rest = (1.0 - cosine) / square
            along = dot * rest
            cx, cy, cz = b * z - c * y, c * x - a * z, a * y - b * x
            u, v, w = x * cosine + cx * sine + a * along, y * cosine + cy * sine + b * along, (
                z * cosine + cz * sine + c * along)
            sine_slope, rest_slope = (cosine - sine) / square, (sine - 2.0 * rest) / square
        else:
            along, rest, rest_slope, sine_slope = 0.0, 0.0, 0.0, 0.0
            cx, cy, cz = b * z - c * y, c * x - a * z, a * y - b * x
            u, v, w = x + cx, y + cy, z + cz
        p, q = u / w, v / w
        radius = p * p + q * q
        bend = 1.0 + camera[9] * radius + camera[10] * radius * radius
        scale = camera[6] * bend
        slope = 2.0 * camera[6] * (camera[9] + 2.0 * camera[10] * radius)
        for row in range(2):
            here = p if row == 0 else q
            p_bar, q_bar = weight * slope * p * here, weight * slope * q * here
            if row == 0:
                p_bar += weight * scale
            else:
                q_bar += weight * scale
            u_bar, v_bar = p_bar / w, q_bar / w
            w_bar = -(p_bar * p + q_bar * q) / w
            along_bar = a * u_bar + b * v_bar + c * w_bar
            rest_bar, dot_bar = along_bar * dot, along_bar * rest
            sine_bar = u_bar * cx + v_bar * cy + w_bar * cz
            cosine_bar = u_bar * x + v_bar * y + w_bar * z
            radial = sine_bar * sine_slope + rest_bar * rest_slope - cosine_bar * sine
            if square == 0.0:
                radial = 0.0
            fx, fy, fz = u_bar * sine, v_bar * sine, w_bar * sine
            by_camera[i, row, 0] = radial * a + dot_bar * x + along * u_bar + y * fz - z * fy
            by_camera[i, row, 1] = radial * b + dot_bar * y + along * v_bar + z * fx - x * fz
            by_camera[i, row, 2] = radial * c + dot_bar * z + along * w_bar + x * fy - y * fx
            x_bar = u_bar * cosine + dot_bar * a + c * fy - b * fz
            y_bar = v_bar * cosine + dot_bar * b + a * fz - c * fx
            z_bar = w_bar * cosine + dot_bar * c + b * fx - a * fy
            by_point[i, row, 0], by_point[i, row, 1], by_point[i, row, 2] = x_bar, y_bar, z_bar
            by_camera[i, row, 3], by_camera[i, row, 4], by_camera[i, row, 5] = -x_bar, -y_bar, -z_bar
            by_camera[i, row, 6] = weight * bend * here
            by_camera[i, row, 7] = weight if row == 0 else 0.0
            by_camera[i, row, 8] = weight if row == 1 else 0.0
            by_camera[i, row, 9] = weight * camera[6] * radius * here
            by_camera[i, row, 10] = weight * camera[6] * radius * radius * here
            by_weight[i, row] = scale * here + camera[7 + row] - features[i, row]
    return by_camera, by_point, by_weight


def reproject_rows(target):
    """Return a program that fills the Jacobian itself, calling s2sad's Jacobian of one point inside compiled code."""
    slopes = s2sad.jacrev(reproject, argnums=(0, 1, 2), target=target)

    def jacobian(cameras, points, weights, features):
        n = weights.size
        by_camera, by_point, by_weight = np.empty((n, 2, 11)), np.empty((n, 2, 3)), np.empty((n, 2))
        for i in range(n):
            by_camera[i], by_point[i], by_weight[i] = slopes(cameras[i], points[i], weights[i], features[i])
        return by_camera, by_point, by_weight

    return compiled(jacobian) if target == "cpu" else jacobian


def scene(n):
    rng = np.random.default_rng(0)
    cameras = 0.1 * rng.normal(size=(n, 11))
    cameras[:, 6] += 1.0
    points = rng.normal(size=(n, 3)) + np.array([0.0, 0.0, 5.0])
    return cameras, points, rng.uniform(0.5, 1.5, size=n), rng.normal(size=(n, 2))


@compiled
def pose(angles, lengths, skin, bone_of):
    """Return where the vertices of a hand are: five fingers of four bones, each turned by its angle.

    `angles` is the wrist's rotation about three axes, then one bend for each bone; a vertex is
    fixed to the bone `bone_of` says, in that bone's frame.
    """
    frames = np.empty((20, 3, 4))
    wrist = np.empty((3, 3))
    ca, sa = math.cos(angles[0]), math.sin(angles[0])
    cb, sb = math.cos(angles[1]), math.sin(angles[1])
    cc, sc = math.cos(angles[2]), math.sin(angles[2])
    wrist[0, 0], wrist[0, 1], wrist[0, 2] = cb * cc, sa * sb * cc - ca * sc, ca * sb * cc + sa * sc
    wrist[1, 0], wrist[1, 1], wrist[1, 2] = cb * sc, sa * sb * sc + ca * cc, ca * sb * sc - sa * cc
    wrist[2, 0], wrist[2, 1], wrist[2, 2] = -sb, sa * cb, ca * cb
    for finger in range(5):
        for joint in range(4):
            bone = 4 * finger + joint
            bend = angles[3 + bone]
            c, s = math.cos(bend), math.sin(bend)
            for i in range(3):
                if joint == 0:
                    first, second, third = wrist[i, 0], wrist[i, 1], wrist[i, 2]
                    origin = 0.2 * (finger - 2.0) * first
                else:
                    first, second, third = frames[bone - 1, i, 0], frames[bone - 1, i, 1], frames[bone - 1, i, 2]
                    origin = frames[bone - 1, i, 3] + lengths[bone - 1] * second
                frames[bone, i, 0] = first
                frames[bone, i, 1] = c * second + s * third
                frames[bone, i, 2] = c * third - s * second
                frames[bone, i, 3] = origin
    out = np.empty(skin.shape)
    for v in range(skin.shape[0]):
        bone = bone_of[v]
        for i in range(3):
            out[v, i] = frames[bone, i, 3]
            for k in range(3):
                out[v, i] += frames[bone, i, k] * skin[v, k]
    return out


@compiled
def pose_hand(angles, lengths, skin, bone_of):
    """Return the Jacobian by the angles: a vertex moves only with the wrist and its own finger."""
    frames = np.empty((20, 3, 4))
    wrist, axes = np.empty((3, 3)), np.empty((3, 3))
    ca, sa = math.cos(angles[0]), math.sin(angles[0])
    cb, sb = math.cos(angles[1]), math.sin(angles[1])
    cc, sc = math.cos(angles[2]), math.sin(angles[2])
    wrist[0, 0], wrist[0, 1], wrist[0, 2] = cb * cc, sa * sb * cc - ca * sc, ca * sb * cc + sa * sc
    wrist[1, 0], wrist[1, 1], wrist[1, 2] = cb * sc, sa * sb * sc + ca * cc, ca * sb * sc - sa * cc
    wrist[2, 0], wrist[2, 1], wrist[2, 2] = -sb, sa * cb, ca * cb
    for finger in range(5):
        for joint in range(4):
            bone = 4 * finger + joint
            c, s = math.cos(angles[3 + bone]), math.sin(angles[3 + bone])
            for i in range(3):
                if joint == 0:
                    first, second, third = wrist[i, 0], wrist[i, 1], wrist[i, 2]
                    origin = 0.2 * (finger - 2.0) * first
                else:
                    first, second, third = frames[bone - 1, i, 0], frames[bone - 1, i, 1], frames[bone - 1, i, 2]
                    origin = frames[bone - 1, i, 3] + lengths[bone - 1] * second
                frames[bone, i, 0] = first
                frames[bone, i, 1] = c * second + s * third
                frames[bone, i, 2] = c * third - s * second
                frames[bone, i, 3] = origin
    # Every angle turns what hangs on it about an axis through a point: the derivative is a cross product.
    axes[0, 0], axes[0, 1], axes[0, 2] = wrist[0, 0], wrist[1, 0], wrist[2, 0]
    axes[1, 0], axes[1, 1], axes[1, 2] = -sc, cc, 0.0
    axes[2, 0], axes[2, 1], axes[2, 2] = 0.0, 0.0, 1.0
    out = np.zeros((skin.shape[0], 3, angles.size))
    for v in range(skin.shape[0]):
        bone = bone_of[v]
        f = frames[bone]
        x = f[0, 3] + f[0, 0] * skin[v, 0] + f[0, 1] * skin[v, 1] + f[0, 2] * skin[v, 2]
        y = f[1, 3] + f[1, 0] * skin[v, 0] + f[1, 1] * skin[v, 1] + f[1, 2] * skin[v, 2]
        z = f[2, 3] + f[2, 0] * skin[v, 0] + f[2, 1] * skin[v, 1] + f[2, 2] * skin[v, 2]
        for a in range(3):
            out[v, 0, a] = axes[a, 1] * z - axes[a, 2] * y
            out[v, 1, a] = axes[a, 2] * x - axes[a, 0] * z
            out[v, 2, a] = axes[a, 0] * y - axes[a, 1] * x
        for at in range(4 * (bone // 4), bone + 1):
            f = frames[at]
            dx, dy, dz = x - f[0, 3], y - f[1, 3], z - f[2, 3]
            out[v, 0, 3 + at] = f[1, 0] * dz - f[2, 0] * dy
            out[v, 1, 3 + at] = f[2, 0] * dx - f[0, 0] * dz
            out[v, 2, 3 + at] = f[0, 0] * dy - f[1, 0] * dx
    return out


def skeleton(vertices):
    rng = np.random.default_rng(0)
    return (0.5 * rng.normal(size=23), rng.uniform(0.5, 1.0, size=20), 0.3 * rng.normal(size=(vertices, 3)),
            rng.integers(0, 20, size=vertices))


KERNELS = (
    Kernel("bundle adjustment Jacobian", reproject, reproject_hand, scene,
           {"tiny": (3,), "full": (31_843,)}, wrt=(0, 1, 2), derivative="batched jacobian", peers="reproject",
           value=reproject_all),
    Kernel("bundle adjustment, own loop", reproject, reproject_hand, scene,
           {"tiny": (3,), "full": (31_843,)}, wrt=(0, 1, 2), derivative="own loop", peers="reproject",
           value=reproject_all, ours=reproject_rows),
    Kernel("hand tracking Jacobian", pose, pose_hand, skeleton, {"tiny": (4,), "full": (544,)},
           derivative="jacfwd", peers="pose"),
)
