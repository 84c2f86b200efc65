"""The peer cuDNN frontend, with a fake frontend that records the graph."""

import sys
import types
import unittest
from unittest import mock

from bench.peers import Absent
from support import import_without_torch


class Tensor:
    def __init__(self, *shape, place=0, type="torch.float16", is_cuda=True):
        self.shape, self.place, self.dtype, self.is_cuda, self.filled = shape, place, type, is_cuda, 0

    def stride(self):
        return tuple(range(len(self.shape)))

    def view(self, *shape):
        return Tensor(*shape, place=self.place, type=self.dtype)

    def data_ptr(self):
        return self.place

    def fill_(self, value):
        self.filled += 1


class Node:
    """A tensor of the graph. set_shape(x) sets "shape"."""

    def __init__(self, **facts):
        self.facts = facts

    def __getattr__(self, name):
        def set(value):
            self.facts[name.removeprefix("set_")] = value
            return self

        return set


class NotSupported(Exception):
    pass


class Graph:
    """`plans` are pairs: a name, and whether the plan can be built."""

    def __init__(self, plans, options):
        self.plans, self.options, self.inputs, self.done, self.result = plans, options, [], [], Node()

    def tensor(self, **facts):
        self.inputs.append(facts)
        return Node(**facts)

    def operation(self, name, **arguments):
        self.done.append(name)
        self.arguments = {key: f"uid {value.facts['uid']}" if isinstance(value, Node) else value
                          for key, value in arguments.items()}
        return self.result

    def sdpa(self, **arguments):
        return self.operation("sdpa", **arguments), None

    def conv_fprop(self, **arguments):
        return self.operation("conv_fprop", **arguments)

    def layernorm(self, **arguments):
        return self.operation("layernorm", **arguments), None, None

    def rmsnorm(self, **arguments):
        return self.operation("rmsnorm", **arguments), None

    def create_execution_plans(self, modes):
        self.done.append("create_execution_plans")
        self.modes = modes

    def deselect_numeric_notes(self, notes):
        self.done.append("deselect_numeric_notes")
        self.notes = notes

    def get_execution_plan_count(self):
        return len(self.plans)

    def get_plan_name_at_index(self, plan):
        return self.plans[plan][0]

    def build_plan_at_index(self, plan):
        if not self.plans[plan][1]:
            raise NotSupported("too large")
        self.done.append(f"build {plan}")

    def get_workspace_size_plan_at_index(self, plan):
        return 100 + plan

    def execute_plan_at_index(self, places, workspace, plan, handle):
        self.done.append(f"execute {plan}")
        self.executed = places, workspace, plan, handle

    def __getattr__(self, name):
        return lambda *arguments: self.done.append(name)


class Build:
    """`slow` are the plans that are slower than all others."""

    def __init__(self, prepares=False, slow=()):
        self.prepares, self.slow = prepares, slow

    def fastest(self, launches):
        def speed(launch):
            launch(0)
            return self.test.graph.executed[2] in self.slow

        return min(launches, key=speed)


class CudnnFrontend(unittest.TestCase):
    plans = [("a", True), ("a", True), ("b", False), ("c", True)]  # cuDNN lists the first one twice

    def setUp(self):
        self.peer = import_without_torch(self, "cudnn_frontend")
        self.peer.torch.empty = self.workspace
        self.peer.torch.full = lambda shape, value, dtype: Tensor(*shape, place=77, type=dtype, is_cuda=False)

    def workspace(self, size, dtype, device):
        self.size = size
        return Tensor(size, place=99)

    def with_frontend(self):
        def pygraph(**options):
            self.graph = Graph(self.plans, options)
            return self.graph

        def names(kind, words):
            return types.SimpleNamespace(**{word: f"{kind} {word}" for word in words.split()})

        module = types.SimpleNamespace(
            pygraph=pygraph, create_handle=lambda: "handle", cudnnGraphNotSupportedError=NotSupported,
            data_type=names("type", "FLOAT"), heur_mode=names("mode", "A B FALLBACK"),
            numerical_note=names("note", "DOWN_CONVERT_INPUTS TENSOR_CORE"),
            norm_forward_phase=names("phase", "INFERENCE"),
            diagonal_alignment=names("corner", "TOP_LEFT BOTTOM_RIGHT"))
        patch = mock.patch.dict(sys.modules, {"cudnn": module})
        patch.start()
        self.addCleanup(patch.stop)

    def run_peer(self, function, *arguments, errors=(0.5,), build=None):
        """The launch, after a launch of set 1. `errors` are those of the plans, from the fastest one."""
        self.with_frontend()
        self.errors, build = list(errors), build or Build()
        build.test = self
        launch = getattr(self.peer, function)(build, *arguments, lambda *output: self.errors.pop(0))
        launch(1)
        return launch

    def lists(self, *shapes, type="torch.float16"):
        """A list of two tensors for each shape. Their places are 10, 11; 20, 21; ..."""
        return [[Tensor(*shape, place=10 * number + i, type=type) for i in range(2)]
                for number, shape in enumerate(shapes, 1)]

    def attention(self, m, n, causal, **options):
        lists = self.lists((2, 8, m, 64), (2, 2, n, 64), (2, 2, n, 64), (2, 8, m, 64))
        self.run_peer("attention", *lists, 0.125, causal, **options)
        return lists[-1]

    def test_attention_without_a_mask(self):
        self.attention(16, 32, False)
        self.assertEqual(self.graph.arguments, {"q": "uid 1", "k": "uid 2", "v": "uid 3", "attn_scale": 0.125,
                                                "generate_stats": False})
        self.assertEqual(self.graph.result.facts["uid"], 4)
        self.assertEqual(self.graph.result.facts["dim"], [2, 8, 16, 64])
        self.assertEqual(self.graph.executed, ({1: 11, 2: 21, 3: 31, 4: 41}, 99, 0, "handle"))

    def test_the_last_query_sees_all_keys(self):
        for n, corner in ((16, "TOP_LEFT"), (32, "BOTTOM_RIGHT")):
            self.attention(16, n, True)
            self.assertEqual(self.graph.arguments["diagonal_alignment"], f"corner {corner}")
            self.assertEqual(self.graph.arguments["diagonal_band_right_bound"], 0)

    def test_the_fastest_plan_of_those_that_are_built(self):
        self.attention(16, 16, False, build=Build(slow=(0,)))
        self.assertEqual(self.graph.executed[2], 3)
        self.assertEqual([each for each in self.graph.done if "build " in each], ["build 0", "build 3"])
        self.assertEqual(self.size, 103)
        self.assertEqual(self.graph.modes, ["mode A", "mode B", "mode FALLBACK"])

    def test_the_graph_is_built_in_cudnns_order(self):
        self.attention(16, 16, False)
        steps = ["sdpa", "validate", "build_operation_graph", "create_execution_plans",
                 "deselect_numeric_notes", "deselect_workspace_greater_than", "check_support", "build 0"]
        self.assertEqual(self.graph.done[:len(steps)], steps)

    def test_a_plan_with_a_wrong_result_is_not_chosen(self):
        output = self.attention(16, 16, False, errors=(3.0, 1.5))
        self.assertEqual(self.graph.executed[2], 3)
        self.assertEqual(output[0].filled, 2)

    def test_an_error_if_all_results_are_wrong(self):
        with self.assertRaisesRegex(ValueError, "wrong result: 4 times the bound"):
            self.attention(16, 16, False, errors=(3.0, 4.0))

    def test_absent_if_no_plan_is_built(self):
        self.plans = [("a", False)]
        with self.assertRaisesRegex(Absent, "cuDNN builds no plan for the graph: too large"):
            self.attention(16, 16, False)

    def test_the_number_of_plans_is_limited(self):
        self.plans = [(str(number), True) for number in range(50)]
        self.attention(16, 16, False)
        self.assertEqual(sum("build " in each for each in self.graph.done), self.peer.MAX_PLANS)

    def test_convolution(self):
        lists = self.lists((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 6, 6))
        self.run_peer("convolution", *lists, (2, 1), (0, 1), (1, 1))
        self.assertEqual(self.graph.arguments, {"image": "uid 1", "weight": "uid 2", "stride": [2, 1],
                                                "padding": [0, 1], "dilation": [1, 1]})
        self.assertEqual(self.graph.notes, ["note DOWN_CONVERT_INPUTS"])
        self.assertEqual(self.graph.inputs[0]["stride"], [0, 1, 2, 3])
        self.assertEqual(self.graph.options["compute_data_type"], "type FLOAT")

    def test_floats_are_not_rounded_to_tf32(self):
        lists = self.lists((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 6, 6), type="torch.float32")
        self.run_peer("convolution", *lists, (1, 1), (0, 0), (1, 1))
        self.assertEqual(self.graph.notes, ["note DOWN_CONVERT_INPUTS", "note TENSOR_CORE"])

    def test_layer_norm(self):
        self.run_peer("norm", *self.lists((5, 64), (64,), (64,), (5, 64)), 0.5)
        self.assertEqual(self.graph.arguments, {"norm_forward_phase": "phase INFERENCE", "input": "uid 1",
                                                "scale": "uid 2", "epsilon": "uid 3", "bias": "uid 4"})
        self.assertEqual([each["dim"] for each in self.graph.inputs],
                         [[5, 64, 1, 1], [1, 64, 1, 1], [1, 1, 1, 1], [1, 64, 1, 1]])
        self.assertEqual([each["is_pass_by_value"] for each in self.graph.inputs],
                         [False, False, True, False])
        self.assertEqual(self.graph.executed[0], {1: 11, 2: 21, 3: 77, 4: 31, 5: 41})

    def test_rms_norm_has_no_bias(self):
        x, gain, y = self.lists((5, 64), (64,), (5, 64))
        self.run_peer("norm", x, gain, [None, None], y, 0.5)
        self.assertEqual(self.graph.done[0], "rmsnorm")
        self.assertNotIn("bias", self.graph.arguments)
        self.assertEqual(self.graph.executed[0], {1: 11, 2: 21, 3: 77, 4: 31})

    def test_absent_while_kernels_are_prepared(self):
        with self.assertRaisesRegex(Absent, "keeps no kernels on disk"):
            self.attention(16, 16, False, build=Build(prepares=True))

    def test_absent_without_the_package(self):
        with (mock.patch.dict(sys.modules, {"cudnn": None}),
              self.assertRaisesRegex(Absent, "the cuDNN frontend is missing .*: run tests/bench/peers")):
            self.peer.frontend()


if __name__ == "__main__":
    unittest.main()
