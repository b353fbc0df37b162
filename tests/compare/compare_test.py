#!/usr/bin/env python3
"""tools/compare gives LibTorch and OpenBLAS no kernels that the processor lacks."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/compare"
loader = importlib.machinery.SourceFileLoader("compare", str(TOOL))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
loader.exec_module(compare)

HASWELL = {"sse4_2", "avx", "avx2", "fma", "bmi2"}
KNIGHTS = HASWELL | {"avx512f", "avx512cd", "avx512er"}  # AVX-512, but not all that the kernels use
SKYLAKE = HASWELL | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


class Compare(unittest.TestCase):
    def test_libtorch(self):
        self.assertEqual(compare.widest_kernels(SKYLAKE), {"ATEN_CPU_CAPABILITY": "avx512"})
        for flags in (KNIGHTS, HASWELL):
            self.assertEqual(compare.widest_kernels(flags), {"ATEN_CPU_CAPABILITY": "avx2"})
        for flags in ({"avx"}, {"asimd", "neon"}, set()):
            self.assertEqual(compare.widest_kernels(flags), {})

    def test_openblas(self):
        self.assertIn("SkylakeX", compare.openblas_cores(SKYLAKE))
        for flags in (KNIGHTS, HASWELL):
            self.assertEqual(compare.openblas_cores(flags), ["Haswell", "Zen"])
        self.assertEqual(compare.openblas_cores(set()), [])

    def test_a_shell_s_choice_is_taken_away(self):
        for name in ("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "MALLOC_MMAP_MAX_"):
            self.assertIn(name, compare.UNWANTED)


if __name__ == "__main__":
    unittest.main()
