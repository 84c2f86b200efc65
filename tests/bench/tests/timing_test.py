"""Timer on a simulated GPU and host, without PyTorch."""

import importlib
import sys
import types
import unittest
from unittest import mock


class Machine:
    """A host that enqueues work, and a GPU that executes it in order. Times are in seconds."""

    def __init__(self):
        self.host = 0.0  # time of the host
        self.free = 0.0  # when the GPU has done all work
        self.log = []

    def work(self, seconds, host=0.0):
        self.host += host
        self.free = max(self.free, self.host) + seconds

    def wait(self):
        self.host = max(self.host, self.free)

    def launch(self, name, seconds, host=1e-5):
        """A candidate. host(n) is the host's time of the n-th call, or a number."""
        calls = []

        def run(i):
            calls.append(i)
            self.log.append((name, i))
            self.work(seconds, host(len(calls)) if callable(host) else host)

        return run

    def torch(self):
        machine = self

        class Event:
            def __init__(self, enable_timing):
                self.at = 0.0

            def record(self):
                self.at = max(machine.free, machine.host)

            def query(self):
                return self.at <= machine.host

            def synchronize(self):
                machine.host = max(machine.host, self.at)

            def elapsed_time(self, end):
                return (end.at - self.at) * 1e3

        torch = types.ModuleType("torch")
        torch.float32 = None
        torch.zeros = lambda *shape, **options: None
        torch.sum = lambda *operands, **options: (self.log.append("flush"), self.work(1e-4))
        torch.cuda = types.SimpleNamespace(Event=Event, synchronize=self.wait,
                                           _sleep=lambda cycles: self.work(cycles / 2e9))
        return torch


class Times(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        modules = mock.patch.dict(sys.modules, {"torch": self.machine.torch()})
        modules.start()
        self.addCleanup(modules.stop)
        sys.modules.pop("bench.timing", None)
        self.timing = importlib.import_module("bench.timing")
        self.timing.time = types.SimpleNamespace(perf_counter=lambda: self.machine.host)
        self.timer = self.timing.Timer()

    def names(self):
        return [each[0] for each in self.machine.log if each != "flush"]

    def test_the_host_does_not_count(self):
        for host in (0.0, 1e-5, 2e-3):
            found = self.timer.isolated({"ours": self.machine.launch("ours", 7e-6, host)})
            self.assertAlmostEqual(found["ours"].median, 7e-6)
            self.assertAlmostEqual(found["ours"].high, 7e-6)

    def test_a_round_with_a_late_host_is_repeated_with_a_longer_sleep(self):
        slow = self.machine.launch("ours", 7e-6, lambda call: 1e-5 if call < 3 else 8e-4)
        found = self.timer.isolated({"ours": slow})
        self.assertAlmostEqual(found["ours"].high, 7e-6)

    def test_a_host_that_is_always_late_counts_after_five_tries(self):
        slow = self.machine.launch("ours", 7e-6, lambda call: 1e-5 if call < 3 else 3.0**call)
        self.timing.MIN_ROUNDS = self.timing.MAX_ROUNDS = 1
        found = self.timer.isolated({"ours": slow})
        self.assertGreater(found["ours"].median, 1.0)
        self.assertEqual(len(self.names()), 2 + 5)

    def test_the_order_rotates(self):
        self.timing.MIN_ROUNDS = self.timing.MAX_ROUNDS = 3
        self.timer.isolated({name: self.machine.launch(name, 1e-5) for name in "abc"})
        self.assertEqual("".join(self.names()), "aabbcc" + "abc" + "bca" + "cab")

    def test_l2_is_flushed_before_each_isolated_launch_on_the_first_buffers(self):
        self.timing.MIN_ROUNDS = self.timing.MAX_ROUNDS = 2
        self.timer.isolated({"ours": self.machine.launch("ours", 1e-5)})
        self.assertEqual(self.machine.log[2:], ["flush", ("ours", 0)] * 2)

    def test_launches_of_a_stream_take_other_buffers_in_turn(self):
        self.timing.MIN_ROUNDS = self.timing.MAX_ROUNDS = 1
        run = self.machine.launch("ours", 1e-3)
        isolated = {"ours": self.timing.Quartiles(1e-3, 1e-3, 1e-3)}
        found = self.timer.stream({"ours": run}, 3, isolated)
        self.assertAlmostEqual(found["ours"].median, 1e-3)
        count = self.timing.stream_launches(1e-3)
        self.assertEqual([i for _, i in self.machine.log[-count:]], [i % 3 for i in range(count)])
        self.assertNotIn("flush", self.machine.log)

    def test_a_stream_has_few_long_and_many_short_launches(self):
        counts = [self.timing.stream_launches(seconds) for seconds in (1e-9, 2e-4, 10.0)]
        self.assertEqual(counts, [self.timing.MAX_LAUNCHES, 10, self.timing.MIN_LAUNCHES])

    def test_short_launches_have_the_most_rounds_and_long_ones_the_least(self):
        self.timer.isolated({"ours": self.machine.launch("ours", 1e-6)})
        self.assertEqual(len(self.names()), 2 + self.timing.MAX_ROUNDS)
        self.machine.log.clear()
        self.timer.isolated({"ours": self.machine.launch("ours", self.timing.MAX_SECONDS)})
        self.assertEqual(len(self.names()), 2 + self.timing.MIN_ROUNDS)
        self.machine.log.clear()
        self.timer.isolated({"ours": self.machine.launch("ours", 1e-6)}, 1e-9)
        self.assertEqual(len(self.names()), 2 + self.timing.MIN_ROUNDS)

    def test_what_a_launch_raises_is_raised(self):
        def refuse(i):
            raise ValueError("refused")

        with self.assertRaisesRegex(ValueError, "refused"):
            self.timer.isolated({"ours": self.machine.launch("ours", 1e-5), "peer": refuse})


if __name__ == "__main__":
    unittest.main()
