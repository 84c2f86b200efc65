"""Runs programs and measures their core-seconds. Pure Python."""

import pathlib
import resource
import subprocess

TIMEOUT = 600  # seconds


class Failed(OSError):
    """A program failed. The text has its name and its error."""


def run(command, **options):
    """Runs a program. Returns its core-seconds, and its output and errors as text.

    Core-seconds are user and system time, with that of the child processes for which the program waits.
    """
    begin = core_seconds(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace",
                              timeout=TIMEOUT, **options)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Failed(str(problem)) from problem
    spent = core_seconds(resource.RUSAGE_CHILDREN) - begin
    if done.returncode:
        error = error_in(done.stderr or done.stdout) or f"exit code {done.returncode}"
        raise Failed(f"{pathlib.Path(command[0]).name}: {error}")
    return spent, done.stdout, done.stderr


def error_in(text):
    """The first line, or the last one of a Python program."""
    lines = text.strip().splitlines() or [""]
    return lines[-1 if lines[0].startswith("Traceback") else 0][:200]


def core_seconds(*who):
    """The core-seconds so far of this process (RUSAGE_SELF) or of its children that ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, who))
