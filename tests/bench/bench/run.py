"""Measures rows in worker processes (worker.py), which it restarts if a step hangs or crashes. Pure
Python.

First, several workers prepare all rows: they compile the kernels of the peers into caches on disk. Then
one worker measures the rows, one after the other.
"""

import collections
import json
import os
import queue
import signal
import subprocess
import threading
import time

from bench import results

BROKEN = "CUDA error"  # in the text of a failure: no later call of the process succeeds


class Dead(Exception):
    """The worker ended, or a step took too long. `step` is the step."""

    def __init__(self, what, step):
        super().__init__(what)
        self.step = step


class Worker:
    """A worker process. `command` starts it."""

    def __init__(self, command, patience):
        self.command, self.patience, self.process, self.step = command, patience, None, ""
        self.seconds = collections.Counter()  # step -> seconds

    def start(self):
        self.step = "start"
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()
        self.answer()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def ask(self, row, without=None, prepares=False):
        """The result of a row. Raises Dead; then the next call starts a new process."""
        if self.process is None:
            self.start()
        question = {"family": row.family, "shape": dict(row.shape), "without": without or {}, "prepares": prepares}
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise self.dead("the process ended") from None
        return self.answer()

    def next_line(self):
        """The worker's next line, or None at its end. Raises queue.Empty if there is none in time."""
        return self.lines.get(timeout=self.patience)

    def answer(self):
        begin = time.monotonic()
        while True:
            try:
                line = self.next_line()
            except queue.Empty:
                raise self.dead(f"no answer in {self.patience:.0f} s") from None
            finally:
                begin, last = time.monotonic(), begin
                self.seconds[self.step] += begin - last
            if line is None:
                raise self.dead("the process ended")
            answer = json.loads(line)
            if "result" in answer:
                return answer["result"]
            self.step = answer["at"]

    def dead(self, what):
        self.stop()
        return Dead(what, self.step)

    def stop(self):
        """Kills the process and its children: compilers, for example."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


def result_of(row, worker, without, say):
    """The result of a row. A peer that hangs or crashes is absent, and the row is measured again.

    `without` has the reasons of peers to leave out, and gets these peers.
    """
    while True:
        try:
            result = worker.ask(row, without)
        except Dead as dead:
            peer = dead.step.removeprefix("peer ")
            if peer == dead.step or peer in without:
                return {"failed": f"{dead}, at the step: {dead.step}"}
            without[peer] = str(dead)
            say(f"{row.id}: without {peer}: {dead}")
            continue
        if BROKEN in json.dumps(result.get("failed", "")) or any(BROKEN in reason for reason in
                                                                 result.get("absent", {}).values()):
            worker.stop()
        return result


def prepare(rows, workers, say):
    """Prepares the rows in parallel."""
    wanted, begin = queue.Queue(), time.monotonic()
    for row in rows:
        wanted.put(row)

    def work(worker):
        while True:
            try:
                row = wanted.get_nowait()
            except queue.Empty:
                break
            try:
                worker.ask(row, prepares=True)
            except Dead:
                pass  # the measurement finds the cause
        worker.stop()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say(f"prepared {len(rows)} rows in {time.monotonic() - begin:.0f} s")


def run(rows, found, path, worker, say, **facts):
    """Measures the rows that `found` does not have yet, and writes `path` after each. `facts` are those of
    results.add()."""
    wanted = [row for row in rows if row.id not in found["rows"]]
    without = {row.family: {} for row in wanted}  # a peer that hangs in one row hangs in the next
    begin = time.monotonic()
    for number, row in enumerate(wanted):
        results.add(found, row.id, result_of(row, worker, without[row.family], say), **facts)
        results.write(path, found)
        spent = time.monotonic() - begin
        left = spent / (number + 1) * (len(wanted) - number - 1)
        say(f"{number + 1}/{len(wanted)}, {left:.0f} s left: {row.id}: {outcome(found['rows'][row.id])}")
    worker.stop()
    say("seconds: " + ", ".join(f"{step} {seconds:.0f}" for step, seconds in worker.seconds.most_common(10)))


def outcome(result):
    for word in ("refused", "failed"):
        if word in result:
            return f"{word}: {result[word]}"
    best, ratio = results.best_peer(result), results.ratio(result)
    ours = result["isolated"]["ours"][1]
    return f"{ours:.1f} us" + (f", {ratio:.3f} of {best[0]}" if best else ", no peer")
