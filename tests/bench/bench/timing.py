"""Times launches on the GPU, in turns.

isolated   one launch. L2 is flushed before it: a large buffer is read, so that L2 has no dirty
           lines. (Dirty lines cost the kernel up to 10 %, because it waits for their write-back.)
stream     launches back to back, with other buffers in turn, so that L2 does not have the operands.

Each round times every candidate once. The order rotates, so that no candidate always follows the
same one. The GPU sleeps before a launch until the host has enqueued it; otherwise the time would
include the host's work. A round in which the host was late is repeated with a longer sleep.

Needs PyTorch and a GPU.
"""

import time

import torch

from bench.statistics import Quartiles

FLUSH_BYTES = 256 << 20      # over four times the L2 of an H200
MAX_SECONDS = 0.25           # per row and column; at least MIN_ROUNDS
MIN_ROUNDS, MAX_ROUNDS = 7, 30
STREAM_SECONDS = 2e-3        # of launches in a stream, within the limits
MIN_LAUNCHES, MAX_LAUNCHES = 4, 20
CYCLES_PER_SECOND = 2.0e9    # upper bound of the clock rate


def stream_launches(seconds):
    """The number of launches of this duration in a stream."""
    return min(MAX_LAUNCHES, max(MIN_LAUNCHES, round(STREAM_SECONDS / seconds)))


class Timer:
    def __init__(self):
        self.flush_buffer = torch.zeros(FLUSH_BYTES // 4, dtype=torch.float32, device="cuda")
        self.flush_result = torch.zeros((), dtype=torch.float32, device="cuda")
        self.start = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)

    def flush(self):
        """Reads a buffer that is larger than L2. A sum of integers would first write a copy in 64 bits."""
        torch.sum(self.flush_buffer, dim=0, out=self.flush_result)

    def once(self, launches, sleep, flush):
        """Seconds per launch, and whether the host was late."""
        torch.cuda._sleep(int(sleep * CYCLES_PER_SECOND))
        if flush:
            self.flush()
        self.start.record()
        for launch in launches:
            launch()
        late = self.start.query()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end) * 1e-3 / len(launches), late

    def in_turns(self, candidates, launches_of, flush, most=None):
        """Quartiles of the seconds per launch of each candidate. `candidates`: name -> function. Takes about
        `most` seconds; default: MAX_SECONDS."""
        names = list(candidates)
        samples = {name: [] for name in names}
        sleeps = {name: self.host_seconds(launches_of(candidates[name])) for name in names}
        begin, number = time.perf_counter(), 0
        while number < MAX_ROUNDS:
            if number >= MIN_ROUNDS and time.perf_counter() - begin > (most or MAX_SECONDS):
                break
            for k in range(len(names)):
                name = names[(k + number) % len(names)]
                for _ in range(5):
                    seconds, late = self.once(launches_of(candidates[name]), sleeps[name], flush)
                    if not late:
                        break
                    sleeps[name] = 2 * sleeps[name] + 1e-5
                samples[name].append(seconds)
            number += 1
        return {name: Quartiles.of(samples[name]) for name in names}

    def host_seconds(self, launches):
        """The host's time for the launches, after a warm-up. Raises what a launch raises."""
        for launch in launches[:2]:
            launch()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for launch in launches:
            launch()
        spent = time.perf_counter() - begin
        torch.cuda.synchronize()
        return min(1.5 * spent + 2e-5, 0.05)

    def isolated(self, candidates, most=None):
        return self.in_turns(candidates, lambda run: [lambda: run(0)], flush=True, most=most)

    def stream(self, candidates, sets, isolated):
        """`isolated` is the result of isolated()."""
        counts = {run: stream_launches(isolated[name].median) for name, run in candidates.items()}

        def launches_of(run):
            return [lambda i=i: run(i % sets) for i in range(counts[run])]

        return self.in_turns(candidates, launches_of, flush=False)

    def quick(self, launch):
        """Seconds of one launch, the median of three: to choose among configurations."""
        launches = [lambda: launch(0)]
        sleep = self.host_seconds(launches)
        return sorted(self.once(launches, sleep, flush=True)[0] for _ in range(3))[1]
