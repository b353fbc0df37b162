#!/usr/bin/env python3
"""tools/scaling_model: what can be worked out by hand, and runs that were published."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/scaling_model"
loader = importlib.machinery.SourceFileLoader("scaling_model", str(TOOL))
model = importlib.util.module_from_spec(importlib.util.spec_from_loader("scaling_model", loader))
sys.modules["scaling_model"] = model  # dataclasses look for it
loader.exec_module(model)

# Two gradients of a million float32 elements, final after 10 and after 40 ms.
STEP = model.Step(forward=0.02, backward=0.04, update=0.001, gradients=((0.01, 10**6), (0.04, 10**6)), batch=32)
# No latencies: only bytes take time.
MACHINE = model.Machine(per_node=1, link=1e9, intra=1e12, base=0, intra_hop=0, link_hop=0)
PLAN = model.Plan(gpus=2, share=1.0, jitter=0.0, bucket=1)


class Model(unittest.TestCase):
    def test_one_gpu_is_the_step_itself(self):
        for mode in ("none", "overlap", "zero"):
            result = model.simulate(STEP, replace(PLAN, gpus=1, mode=mode, jitter=0.5), MACHINE)
            self.assertAlmostEqual(result.seconds, 0.061)
            self.assertEqual(result.exposed, 0)
            self.assertAlmostEqual(result.efficiency, 1)

    def test_without_overlap_all_bytes_are_exposed(self):
        # 2 (N - 1) / N of 8 MB at 1 GB/s.
        for gpus, seconds in ((2, 0.008), (4, 0.012)):
            result = model.simulate(STEP, replace(PLAN, gpus=gpus, mode="none"), MACHINE)
            self.assertAlmostEqual(result.exposed, seconds)
            self.assertAlmostEqual(result.seconds, 0.061 + seconds)
        half = model.simulate(STEP, replace(PLAN, mode="none", share=0.5), MACHINE)
        self.assertAlmostEqual(half.exposed, 0.016)
        halves = model.simulate(STEP, replace(PLAN, mode="none", wire=2), MACHINE)
        self.assertAlmostEqual(halves.exposed, 0.004)

    def test_overlap_hides_what_is_final_early(self):
        # The first 4 ms are over long before backward is; the second gradient's come after it.
        for fusion in ("fixed", "greedy"):
            result = model.simulate(STEP, replace(PLAN, fusion=fusion), MACHINE)
            self.assertAlmostEqual(result.exposed, 0.004)
        # In one bucket nothing begins before the last is final.
        one = model.simulate(STEP, replace(PLAN, bucket=1 << 30), MACHINE)
        self.assertAlmostEqual(one.exposed, 0.008)
        # A slow link is still busy with the first when the second is final: 0.01 + 2 x 0.04 s.
        slow = model.simulate(STEP, PLAN, replace(MACHINE, link=1e8))
        self.assertAlmostEqual(slow.exposed, 0.01 + 0.08 - 0.04)
        size, best = model.best_bucket(STEP, PLAN, MACHINE)
        self.assertAlmostEqual(best.exposed, 0.004)
        self.assertLessEqual(size, 4 << 20)

    def test_zero_gathers_parameters_after_the_update(self):
        # Reduce-scatter: 2 ms of the last gradient; then half of the update, and 4 ms for all parameters.
        result = model.simulate(STEP, replace(PLAN, mode="zero"), MACHINE)
        self.assertAlmostEqual(result.exposed, 0.002 + 0.004)
        self.assertAlmostEqual(result.seconds, 0.06 + 0.0005 + 0.006)

    def test_latencies_of_ring_and_tree(self):
        machine = replace(MACHINE, per_node=4, base=1e-5, intra_hop=1e-6, link_hop=1e-5)
        nothing = lambda gpus: model.collective_seconds(0, replace(PLAN, gpus=gpus), machine)
        self.assertAlmostEqual(nothing(4), 1e-5 + 6e-6)  # 2 x 3 hops inside
        self.assertAlmostEqual(nothing(8), 1e-5 + 2 * (3e-6 + 1e-5))  # the tree: 3 inside, 1 between, both ways
        self.assertLess(nothing(512), 2 * nothing(128))

    def test_expected_maximum(self):
        self.assertEqual(model.expected_maximum(1), 0)
        self.assertAlmostEqual(model.expected_maximum(2), 0.5641895835, places=6)  # 1 / sqrt(pi)
        self.assertAlmostEqual(model.expected_maximum(3), 0.8462843753, places=6)  # 3 / (2 sqrt(pi))
        slow = model.simulate(STEP, replace(PLAN, jitter=0.1), MACHINE)
        self.assertAlmostEqual(slow.seconds, (0.061 + 0.004) * 1.05641895835, places=6)

    def test_networks_have_their_numbers_of_parameters(self):
        # Those of torchvision's.
        for name, elements in (("vgg16", 138357544), ("resnet50", 25557032), ("resnet101", 44549160)):
            self.assertEqual(sum(n for n, _ in model.NETWORKS[name]()), elements)

    def test_published_runs(self):
        rows = model.published_rows()
        share, jitter = model.fit(rows[:2])
        self.assertTrue(0.5 < share <= 1 and 0 < jitter < 0.06, (share, jitter))
        for row in rows[:3]:  # two fitted, a third predicted
            self.assertLess(abs(model.with_fit(row, share, jitter).efficiency - row.efficiency), 0.03, row.name)
        # Without a term for stragglers it flatters all that overlap.
        for row in rows[:3]:
            self.assertGreater(model.with_fit(row, share, 0.0).efficiency, row.efficiency + 0.05, row.name)


class Program(unittest.TestCase):
    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(TOOL), *arguments], capture_output=True, text=True)

    def test_measured_times(self):
        times = {"gradient_times": "mlp", "mode": "float32", "device": "cpu", "threads": 1, "batch": 32, "steps": 5,
                 "forward_ms": 20, "backward_ms": 40, "update_ms": 1,
                 "parameters": [["/l2/W", 10**6, 4 * 10**6, 10], ["/l1/W", 10**6, 4 * 10**6, 40]]}
        self.assertEqual(model.step_from_times(times), STEP)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "times.json"
            path.write_text("something else\n" + json.dumps(times) + "\n")
            done = self.run_tool(str(path), "--gpus", "1", "2", "--per-node", "1", "--link-gbit", "8", "--share", "1",
                                 "--jitter", "0", "--base-us", "0", "--link-hop-us", "0", "--mode", "overlap",
                                 "--bucket-mib", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Modelled, from a step of 61.000 ms of 32 examples, measured: mlp", done.stdout)
            self.assertIn("| 2 | overlap | 65.000 | 93.8 % | 985 | 4.000 | 1 |", done.stdout)
            path.write_text("{}\n")
            done = self.run_tool(str(path))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("has no line of kusari-bench CASE --gradient-times", done.stderr)

    def test_wrong_arguments(self):
        for arguments, message in ((["--network", "vgg16"], "--network needs --rate"), ([], "give a file"),
                                   (["x", "--share", "1.5"], "--share at most 1"),
                                   (["x", "--link-gbit", "-1"], "-1 is not positive")):
            done = self.run_tool(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
