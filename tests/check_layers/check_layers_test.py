#!/usr/bin/env python3
"""tools/check_layers finds each kind of offence in the small tree beside this file, and nothing else."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = """\
framework/autograd/variable.h:4: autograd includes framework/cpu/pool.h; no layer includes a backend
framework/core/array.h: no #pragma once
framework/core/array.h:1: a public header includes <Eigen/Core>; the standard library and Kusari only
framework/core/array.h:2: a public header includes <iostream>, which costs every user; use it in the .cc
framework/core/array.h:4: core includes framework/autograd/variable.h, a layer above it
framework/core/array.h:5: framework/core/absent.h does not exist
framework/core/array.h:6: "shape.h" is not spelled from the project's root (kusari/...)
framework/core/timer.h:3: a public header includes <chrono>, which costs every user; use it in the .cc
framework/cpu/pool.h:3: cpu includes framework/autograd/variable.h; a backend includes core and kernels alone
6 files, 9 problems
"""

result = subprocess.run([sys.executable, HERE.parent.parent / "tools/check_layers", HERE], capture_output=True, text=True)
print(result.stdout, result.stderr)
sys.exit(0 if result.returncode == 1 and result.stdout == EXPECTED else 1)
