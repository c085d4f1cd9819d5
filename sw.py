import numpy as np


def rk4_arrays_grad(x0, p, n):
    """Gradient of `rk4_arrays` (typ.py:18) for `x0`, `p`."""
    # ---- primal sweep ----
    x = np.copy(x0)
    k1=np.empty(3);k2=np.empty(3);k3=np.empty(3);k4=np.empty(3);argument=np.empty(3);argument_2=np.empty(3);argument_3=np.empty(3)
    rk4_step_value = np.empty(3);rk4_step_value_bar=np.empty(3)
    x_tape = np.empty((n, 3))
    argument_tape = np.empty((n, 3))
    argument_2_tape = np.empty((n, 3))
    argument_3_tape = np.empty((n, 3))
    for step in range(n):
        h = 0.002
        k1[0] = p[0] * (x[1] - x[0])
        k1[1] = x[0] * (p[1] - x[2]) - x[1]
        k1[2] = x[0] * x[1] - p[2] * x[2]
        for i in range(3):
            argument[i] = x[i] + 0.5 * h * k1[i]
        k2[0] = p[0] * (argument[1] - argument[0])
        k2[1] = argument[0] * (p[1] - argument[2]) - argument[1]
        k2[2] = argument[0] * argument[1] - p[2] * argument[2]
        for i in range(3):
            argument_2[i] = x[i] + 0.5 * h * k2[i]
        k3[0] = p[0] * (argument_2[1] - argument_2[0])
        k3[1] = argument_2[0] * (p[1] - argument_2[2]) - argument_2[1]
        k3[2] = argument_2[0] * argument_2[1] - p[2] * argument_2[2]
        for i in range(3):
            argument_3[i] = x[i] + h * k3[i]
        k4[0] = p[0] * (argument_3[1] - argument_3[0])
        k4[1] = argument_3[0] * (p[1] - argument_3[2]) - argument_3[1]
        k4[2] = argument_3[0] * argument_3[1] - p[2] * argument_3[2]
        for i in range(3):
            rk4_step_value[i] = x[i] + h / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i])
        x_tape[step] = x
        x, rk4_step_value = rk4_step_value, x
        argument_tape[step] = argument
        argument_2_tape[step] = argument_2
        argument_3_tape[step] = argument_3

    # ---- adjoint sweep ----
    p_bar = np.zeros_like(p)
    # return np.sum(x**2)
    x_bar = np.empty_like(x)
    for i in range(3):
        x_bar[i] = 2 * x[i]
    argument_bar = np.empty(3)
    argument_2_bar = np.empty(3)
    argument_3_bar = np.empty(3)
    k1_bar = np.empty(3)
    k2_bar = np.empty(3)
    k3_bar = np.empty(3)
    for step in range(n - 1, -1, -1):
        argument = argument_tape[step]
        argument_2 = argument_2_tape[step]
        argument_3 = argument_3_tape[step]
        h = 0.002
        argument_bar[:] = 0.0
        argument_2_bar[:] = 0.0
        argument_3_bar[:] = 0.0
        # x=rk4_step(x,p,0.002)
        x = x_tape[step]
        for i in range(3):
            rk4_step_value_bar[i] = x_bar[i]
        # return x+h/6.0*(k1+2*k2+2*k3+k4)
        for i in range(3):
            x_bar[i] = rk4_step_value_bar[i]
            k1_bar[i] = h / 6.0 * rk4_step_value_bar[i]
            k2_bar[i] = 2 * k1_bar[i]
            k3_bar[i] = 2 * k1_bar[i]
        k4_bar_0 = k1_bar[0]
        k4_bar_1 = k1_bar[1]
        k4_bar_2 = k1_bar[2]
        # return np.array([p[0]*(x[1]-x[0]), x[0]*(p[1]-x[2])-x[1],
        # x[0]*x[1]-p[2]*x[2]])
        p_bar[0] += k4_bar_0 * (argument_3[1] - argument_3[0])
        difference_bar_7 = p[0] * k4_bar_0
        argument_3_bar[1] += difference_bar_7
        argument_3_bar[0] -= difference_bar_7
        argument_3_bar[0] += k4_bar_1 * (p[1] - argument_3[2])
        difference_bar_8 = argument_3[0] * k4_bar_1
        p_bar[1] += difference_bar_8
        argument_3_bar[2] -= difference_bar_8
        argument_3_bar[1] -= k4_bar_1
        argument_3_bar[0] += argument_3[1] * k4_bar_2
        argument_3_bar[1] += argument_3[0] * k4_bar_2
        product_bar_4 = -k4_bar_2
        p_bar[2] += argument_3[2] * product_bar_4
        argument_3_bar[2] += p[2] * product_bar_4
        # k1=lorenz(x,p); k2=lorenz(x+0.5*h*k1,p); k3=lorenz(x+0.5*h*k2,p);
        # k4=lorenz(x+h*k3,p)
        for i in range(3):
            x_bar[i] += argument_3_bar[i]
            k3_bar[i] += h * argument_3_bar[i]
        # return np.array([p[0]*(x[1]-x[0]), x[0]*(p[1]-x[2])-x[1],
        # x[0]*x[1]-p[2]*x[2]])
        p_bar[0] += k3_bar[0] * (argument_2[1] - argument_2[0])
        difference_bar_5 = p[0] * k3_bar[0]
        argument_2_bar[1] += difference_bar_5
        argument_2_bar[0] -= difference_bar_5
        argument_2_bar[0] += k3_bar[1] * (p[1] - argument_2[2])
        difference_bar_6 = argument_2[0] * k3_bar[1]
        p_bar[1] += difference_bar_6
        argument_2_bar[2] -= difference_bar_6
        argument_2_bar[1] -= k3_bar[1]
        argument_2_bar[0] += argument_2[1] * k3_bar[2]
        argument_2_bar[1] += argument_2[0] * k3_bar[2]
        product_bar_3 = -k3_bar[2]
        p_bar[2] += argument_2[2] * product_bar_3
        argument_2_bar[2] += p[2] * product_bar_3
        # k1=lorenz(x,p); k2=lorenz(x+0.5*h*k1,p); k3=lorenz(x+0.5*h*k2,p);
        # k4=lorenz(x+h*k3,p)
        for i in range(3):
            x_bar[i] += argument_2_bar[i]
            k2_bar[i] += 0.5 * h * argument_2_bar[i]
        # return np.array([p[0]*(x[1]-x[0]), x[0]*(p[1]-x[2])-x[1],
        # x[0]*x[1]-p[2]*x[2]])
        p_bar[0] += k2_bar[0] * (argument[1] - argument[0])
        difference_bar_3 = p[0] * k2_bar[0]
        argument_bar[1] += difference_bar_3
        argument_bar[0] -= difference_bar_3
        argument_bar[0] += k2_bar[1] * (p[1] - argument[2])
        difference_bar_4 = argument[0] * k2_bar[1]
        p_bar[1] += difference_bar_4
        argument_bar[2] -= difference_bar_4
        argument_bar[1] -= k2_bar[1]
        argument_bar[0] += argument[1] * k2_bar[2]
        argument_bar[1] += argument[0] * k2_bar[2]
        product_bar_2 = -k2_bar[2]
        p_bar[2] += argument[2] * product_bar_2
        argument_bar[2] += p[2] * product_bar_2
        # k1=lorenz(x,p); k2=lorenz(x+0.5*h*k1,p); k3=lorenz(x+0.5*h*k2,p);
        # k4=lorenz(x+h*k3,p)
        for i in range(3):
            x_bar[i] += argument_bar[i]
            k1_bar[i] += 0.5 * h * argument_bar[i]
        # return np.array([p[0]*(x[1]-x[0]), x[0]*(p[1]-x[2])-x[1],
        # x[0]*x[1]-p[2]*x[2]])
        p_bar[0] += k1_bar[0] * (x[1] - x[0])
        difference_bar = p[0] * k1_bar[0]
        x_bar[1] += difference_bar
        x_bar[0] -= difference_bar
        x_bar[0] += k1_bar[1] * (p[1] - x[2])
        difference_bar_2 = x[0] * k1_bar[1]
        p_bar[1] += difference_bar_2
        x_bar[2] -= difference_bar_2
        x_bar[1] -= k1_bar[1]
        x_bar[0] += x[1] * k1_bar[2]
        x_bar[1] += x[0] * k1_bar[2]
        product_bar = -k1_bar[2]
        p_bar[2] += x[2] * product_bar
        x_bar[2] += p[2] * product_bar
    return x_bar, p_bar
