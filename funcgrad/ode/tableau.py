"""The method of Dormand and Prince, of order 5 with an embedded one of order 4, and its continuous extension of order 4.

Sources: Dormand and Prince (1980), table 2; Shampine (1986), "Some practical Runge-Kutta formulas", with c* = 1/2, for `DENSE`.
"""

import numpy as np

C = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
"""When the stages from the second on take place, in steps."""

A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""How much of each slope leads to a stage. The last stage is the next step's first: its state is the step's result."""

ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""The result of order 5 minus that of order 4."""

DENSE = np.array(
    [
        (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
        (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
        (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
        (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
        (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
    ]
)
"""Weight of each slope at θ in [0, 1] of a step: the coefficients of θ, θ², θ³, θ⁴."""
DENSE.flags.writeable = False
