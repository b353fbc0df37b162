#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel over gloo in the form of kusari-bench's cases all_reduce and exchange:

    mpirun -n 2 PYTHON peer_ddp.py [--seconds S]

Each rank has one thread. One line of JSON per number, of the slowest rank: medians over 9 windows. Steps without an exchange are those of
all ranks at the same time, in turn with the others.
"""
import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from peer_torch import resnet

WARM_UP, WINDOWS = 3, 9


def window(call, calls):
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    seconds = torch.tensor((time.perf_counter() - begin) / calls, dtype=torch.float64)
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    return seconds.item()


def sample_together(functions, seconds):
    calls = [max(1, int(seconds / WINDOWS / window(call, WARM_UP))) for call in functions]
    samples = [[] for _ in functions]
    for _ in range(WINDOWS):
        for k, call in enumerate(functions):
            samples[k].append(window(call, calls[k]))
    return samples


def training(model, x, t):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), t).backward()
        optimizer.step()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3, help="time for one measurement")
    seconds = parser.parse_args().seconds
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    ranks = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]), world_size=ranks)
    numbers = torch.zeros(25_000_000)
    x = torch.randn(64, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    t = torch.randint(0, 10, (64,))
    steps = [training(wrap(resnet(False).to(memory_format=torch.channels_last)), x, t)
             for wrap in (lambda model: model, DistributedDataParallel)]
    results = {"all_reduce": sample_together([lambda: dist.all_reduce(numbers)], seconds)[0]}
    results["exchange.resnet18_cifar.alone"], results["exchange.resnet18_cifar"] = sample_together(steps, seconds)
    for name, samples in results.items():
        if dist.get_rank() == 0:
            print(json.dumps({"bench": name, "impl": f"pytorch-{torch.__version__}-gloo", "threads": 1, "unit": "ms",
                              "median": 1e3 * statistics.median(samples), "min": 1e3 * min(samples), "ranks": ranks}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
