"""A worker without a GPU, for run_test.py. The shape of a row says what it does: crash, hang, fail."""

import json
import os
import sys
import time


def say(**answer):
    print(json.dumps(answer), flush=True)


if "broken" in sys.argv:
    sys.exit(3)
say(at="start")
say(result={})
for line in sys.stdin:
    wanted = json.loads(line)
    action = wanted["shape"].get("DO", "measure")
    if action in ("hang", "crash") and "B" not in wanted["without"]:
        say(at="peer A")
        say(at="peer B")
        os._exit(1) if action == "crash" else time.sleep(600)
    if action == "hang late":
        say(at="timing")
        time.sleep(600)
    if action == "break":
        say(result={"failed": "RuntimeError: CUDA error: misaligned address"})
        continue
    say(result={"process": os.getpid(), "prepares": wanted["prepares"], "absent": wanted["without"], "kernels": ["copy"],
                "isolated": {"ours": [1, 2, 3]}})
