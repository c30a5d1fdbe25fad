"""What a type checker sees of the transformations: `@typed(Grad)` above an implementation, and nothing happens at run time.

Read `First[T, P, V]` as "a function whose first argument is a `T`, with any others, giving a `V`". Where the type of a result
depends on more than the checkers can follow, it is `Any` and never a guess.
"""

from funcgrad.transforms.signatures.gradients import Grad, ValueAndGrad
from funcgrad.transforms.signatures.jacobians import Jacobian, Jacrev
from funcgrad.transforms.signatures.lanes import Vmap
from funcgrad.transforms.signatures.maps import Hvp, Jvp, Linearized, LinearTranspose, Vjp
from funcgrad.transforms.signatures.words import T, typed

__all__ = ["Grad", "Hvp", "Jacobian", "Jacrev", "Jvp", "LinearTranspose", "Linearized", "T", "ValueAndGrad", "Vjp", "Vmap", "typed"]
