#!/usr/bin/env python3
"""Writes naive_N.npz: what ChainerMN's naive communicator computes with N ranks.

    mpiexec -n 2 python generate.py     (and -n 3)

needs chainer 7.8.1, mpi4py and NumPy < 1.24. All random data is seeded. Arrays:

- OPT/init/RANK/PARAMETER: where a rank's parameters start; x, t: batches (step, rank, example, ..).
- OPT/step/PARAMETER: rank 0's parameters after each of the STEPS calls of update(), the first of which only broadcasts.
- OPT/t: updates that the optimizer counted.
- mnbn/..: MultiNodeBatchNormalization: x, gy, y and gx of each rank; gradients of gamma and beta on each rank; moving
  averages after the one call.
- scatter/TOTAL/EQUAL: begin and end for each rank by scatter_index's rule.
"""

import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

import chainermn
from chainermn.datasets.scatter import _scatter_index

STEPS, BATCH, INPUTS, UNITS, CLASSES = 20, 4, 5, 7, 3


class Model(chainer.Chain):
    def __init__(self, rng):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(INPUTS, UNITS)
            self.l2 = L.Linear(UNITS, CLASSES)
            self.unused = chainer.Parameter(np.zeros((4,), np.float32))
        for _, param in sorted(self.namedparams()):
            param.array[...] = rng.uniform(-0.5, 0.5, param.shape)

    def __call__(self, x, t):
        return F.softmax_cross_entropy(self.l2(F.tanh(self.l1(x))), t)


def params(model):
    return [(name[1:], param.array.copy()) for name, param in sorted(model.namedparams())]


def of_all_ranks(comm, value):
    return comm.bcast_obj(comm.gather_obj(value))


def train(name, make_optimizer, comm, arrays):
    size = comm.size
    model = Model(np.random.RandomState(100 + comm.rank))
    for rank, start in enumerate(of_all_ranks(comm, params(model))):
        for path, value in start:
            arrays[f"{name}/init/{rank}/{path}"] = value
    rng = np.random.RandomState(7)
    x = rng.uniform(-1, 1, (STEPS, size, BATCH, INPUTS)).astype(np.float32)
    t = rng.randint(0, CLASSES, (STEPS, size, BATCH)).astype(np.int32)
    optimizer = chainermn.create_multi_node_optimizer(make_optimizer(), comm)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    steps = {}
    for step in range(STEPS):
        optimizer.update(model, x[step, comm.rank], t[step, comm.rank])
        for path, value in params(model):
            steps.setdefault(path, []).append(value)
    for path, values in steps.items():
        arrays[f"{name}/step/{path}"] = np.stack(values)
    arrays[f"{name}/t"] = np.array(optimizer.t, np.int64)
    arrays["x"], arrays["t"] = x, t


def batch_normalization(comm, arrays):
    size, n, channels, width = comm.size, 3, 4, 2
    rng = np.random.RandomState(11)
    x = rng.normal(1, 2, (size, n, channels, width)).astype(np.float32)
    gy = rng.normal(0, 1, x.shape).astype(np.float32)
    link = chainermn.links.MultiNodeBatchNormalization(channels, comm)
    link.gamma.array[...] = np.array([0.5, 1, 1.5, 2], np.float32)
    link.beta.array[...] = np.array([-1, 0, 1, 2], np.float32)
    link.cleargrads()
    given = chainer.Variable(x[comm.rank])
    with chainer.using_config("train", True):
        y = link(given)
    y.grad = gy[comm.rank]
    y.backward()
    of_rank = {"y": y.array, "gx": given.grad, "ggamma": link.gamma.grad, "gbeta": link.beta.grad}
    arrays["mnbn/x"], arrays["mnbn/gy"] = x, gy
    for key, value in of_rank.items():
        arrays[f"mnbn/{key}"] = np.stack(of_all_ranks(comm, value))
    arrays["mnbn/avg_mean"], arrays["mnbn/avg_var"] = link.avg_mean, link.avg_var


def main():
    comm = chainermn.create_communicator("naive")
    arrays = {}
    train("MomentumSGD", lambda: chainer.optimizers.MomentumSGD(0.1), comm, arrays)
    train("Adam", lambda: chainer.optimizers.Adam(0.01), comm, arrays)
    batch_normalization(comm, arrays)
    for total in (0, 1, 2, 5, 7, 10, 11, 23):
        for equal in (True, False):
            ranges = [(b, e) for _, b, e in _scatter_index(total, comm.size, equal)]
            arrays[f"scatter/{total}/{int(equal)}"] = np.array(ranges, np.int64)
    if comm.rank == 0:
        np.savez_compressed(f"naive_{comm.size}.npz", **arrays)
        print(f"naive_{comm.size}.npz: {len(arrays)} arrays", file=sys.stderr)


main()
