"""Cases of what models are made of, and of many values as one vector."""

import numpy as np

from funcgrad import nn
from funcgrad.ops import activations as ops
from funcgrad.ops.piling import pile, unpile
from tests.ops.kit import arr, case

for _prim, _f in (
    (ops.sigmoid, nn.sigmoid),
    (ops.softplus, nn.softplus),
    (ops.silu, nn.silu),
    (ops.exp_minus_one, nn.elu),
    (ops.gelu_tanh, nn.gelu),
    ((ops.gelu, ops.normal_cdf), lambda x: nn.gelu(x, approximate=False)),
):
    case(_prim, _f, arr(3, 4))
    case(_prim, _f, arr(), name=f"{_prim[0].name if isinstance(_prim, tuple) else _prim.name}-0-d")
    case(_prim, _f, arr(0, 2), name=f"{_prim[0].name if isinstance(_prim, tuple) else _prim.name}-empty")

case(nn.relu, lambda x: nn.relu(x) * x, arr(3, 4))
case(nn.leaky_relu, lambda x, a: nn.leaky_relu(x, a), arr(3, 4), arr(4, seed=1))
case(nn.elu, lambda x, a: nn.elu(x, a), arr(3, 4), arr(4, seed=1))

for _prim, _f in ((ops.softmax, nn.softmax), (ops.log_softmax, nn.log_softmax), (ops.log_total, nn.logsumexp)):
    case(_prim, _f, arr(3, 4))
    case(_prim, lambda x, f=_f: f(x, axis=0), arr(3, 4))
    case(_prim, lambda x, f=_f: f(x, axis=(0, -1)), arr(3, 2, 2))
    case(_prim, lambda x, f=_f: f(x, axis=None), arr(3, 4))
    case(_prim, lambda x, f=_f: f(x, axis=-1), arr(0, 3), name=f"{_f.__name__}-no-rows")

case(nn.softmax, lambda x: nn.softmax(x, where=np.arange(4) < 3), arr(3, 4))
case(nn.logsumexp, lambda x: nn.logsumexp(x, axis=1, keepdims=True, where=np.arange(4) != 1), arr(3, 4))
case(nn.cross_entropy, lambda x: nn.cross_entropy(x, [2, 0, 1]), arr(3, 4))
case(nn.cross_entropy, lambda x: nn.cross_entropy(x, [[2, 0, 1], [0, 0, 2]], axis=1), arr(2, 3, 3))
case(nn.cross_entropy, lambda x, p: nn.cross_entropy(x, p), arr(3, 4), arr(3, 4, seed=1))

case(pile, lambda x, y: pile(y[0, 1], x, y, y[0, 0], y.T), arr(3), arr(2, 2, seed=1), complex=True)
case(pile, lambda x: pile(x[0], x[2] * x[1]), arr(3), name="pile-scalars")
case(unpile, lambda x: unpile(x, shapes=((2,), (), (0, 3), (2, 1))), arr(5), complex=True)
case(unpile, lambda x: unpile(x * x, shapes=((), ())), arr(2), name="unpile-scalars")
