"""What the tests that run a compiler share: which compilers, and with which flags."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

_FLAGS = ["-std=c++20", "-fsyntax-only"] + os.environ["CSP_COMPILE_FLAGS"].split()


def compile_text(compiler, text, flags=()):
    """Compiles a source given as text; returns (whether it compiles, what the compiler said)."""
    run = subprocess.run([compiler, *_FLAGS, *flags, "-x", "c++", "-"], input=text, text=True,
                         env={**os.environ, "LC_ALL": "C"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.returncode == 0, run.stdout


def for_each(function, items):
    """Calls function(*item) for each item, on all cores; returns the results."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda item: function(*item), items))
