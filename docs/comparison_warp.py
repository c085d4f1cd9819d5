"""The programs of comparison.py as one writes them in Warp: kernels, of one thread.

Each does the same arithmetic on the same numbers in the same order.
"""

# The names and types are Warp's: an annotation is the type that its compiler takes.
import numpy
import warp as wp

Vector = wp.array(dtype=wp.float64)
Matrix = wp.array2d(dtype=wp.float64)


@wp.kernel
def written_in_place(x: Vector, y: Vector, out: Vector):
    for i in range(x.shape[0]):
        y[i] = x[i]
    for i in range(1, x.shape[0]):
        y[i] = y[i] * y[i - 1]
    for i in range(x.shape[0]):
        out[0] += y[i]


@wp.kernel
def branch_on_value(x: Vector, y: Vector, out: Vector):
    total = wp.float64(0.0)
    for i in range(x.shape[0]):
        v = x[i]
        if v > wp.float64(0.5):
            total += v * v
        else:
            total -= v
    out[0] = total


@wp.kernel
def loop_until(x: Vector, y: Vector, out: Vector):
    r = x[0]
    while wp.abs(r * r - x[0]) > wp.float64(1e-12):
        r = wp.float64(0.5) * (r + x[0] / r)
    out[0] = r * x[1]


@wp.kernel
def through_a_view(x: Vector, y: Matrix, out: Vector):
    row = y[1]
    for i in range(x.shape[0]):
        row[i] = x[i]
    for i in range(2):
        for j in range(x.shape[0]):
            out[0] += y[i, j] * y[i, j]


@wp.kernel
def augmented_alias(x: Vector, y: Vector, out: Vector):
    z = y
    for i in range(x.shape[0]):
        y[i] = x[i]
    for i in range(x.shape[0]):
        z[i] = z[i] * wp.float64(2.0)
    for i in range(x.shape[0]):
        out[0] += y[i] * y[i]


@wp.kernel
def duplicate_index(x: Vector, y: Vector, out: Vector):
    out[0] = x[0] * x[0] + x[0] * x[0] + x[2] * x[2]


@wp.kernel
def untaken_side(x: Vector, y: Vector, out: Vector):
    for i in range(x.shape[0]):
        d = x[i] - wp.float64(0.6)
        out[0] += wp.where(d > wp.float64(0.0), wp.sqrt(d), wp.float64(0.0))


@wp.kernel
def early_return(x: Vector, y: Vector, out: Vector):
    total = wp.float64(0.0)
    for i in range(x.shape[0]):
        v = x[i]
        total += v * v
        if total > wp.float64(0.5):
            out[0] = total * v
            return
    out[0] = total


def gradient(name: str, x: numpy.ndarray) -> numpy.ndarray | None:
    """Return the gradient of a program by Warp's tape, on the CPU; None where the language cannot say it."""
    kernel = globals().get(name)
    if kernel is None:
        return None
    given = wp.array(x, dtype=wp.float64, device="cpu", requires_grad=True)
    shape = (2, x.size) if name == "through_a_view" else (x.size,)
    work = wp.zeros(shape, dtype=wp.float64, device="cpu", requires_grad=True)
    out = wp.zeros(1, dtype=wp.float64, device="cpu", requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[given, work], outputs=[out], device="cpu")
    tape.backward(out)
    return given.grad.numpy()
