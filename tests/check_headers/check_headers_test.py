#!/usr/bin/env python3
"""tools/check_headers finds what cannot be reached in the small tree beside this file, and nothing else."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = """\
README.md names Reader, which only framework/core/absent.h has: include it in framework/kusari.h
docs/files.md names read_idx, which only framework/core/absent.h has: include it in framework/kusari.h
"""

result = subprocess.run([sys.executable, HERE.parent.parent / "tools/check_headers", HERE], capture_output=True, text=True)
print(result.stdout, result.stderr)
sys.exit(0 if result.returncode == 1 and result.stdout == EXPECTED else 1)
