"""cuDNN's graphs, by the cuDNN frontend, which loads the cuDNN of PyTorch.

Each function returns the launch of the fastest plan for its graph. A list has one tensor per set.
"""

import functools

import torch

from bench.build import first_line
from bench.peers import Absent
from bench.peers.verify import verified

MAX_PLANS = 4          # that are built for a graph: the first of its heuristics
MAX_WORKSPACE = 2**32  # bytes


def frontend():
    try:
        import cudnn
    except ImportError as error:
        raise Absent(f"the cuDNN frontend is missing ({error}): run tests/bench/peers_download") from None
    return cudnn


@functools.cache
def handle():
    return frontend().create_handle()  # of PyTorch's default stream


class Graph:
    """A graph. Its tensors have the numbers 1, 2, ... in the order in which they are added."""

    def __init__(self, b):
        if b.prepares:
            raise Absent("cuDNN keeps no kernels on disk")
        self.b, self.cudnn, self.tensors = b, frontend(), []
        single = self.cudnn.data_type.FLOAT
        self.graph = self.cudnn.pygraph(handle=handle(), intermediate_data_type=single,
                                        compute_data_type=single)

    def input(self, tensors):
        """A tensor of the graph. If it is not on the GPU, its value is an argument of the kernels."""
        self.tensors.append(tensors)
        x = tensors[0]
        return self.graph.tensor(dim=list(x.shape), stride=list(x.stride()), data_type=x.dtype,
                                 is_pass_by_value=not x.is_cuda, uid=len(self.tensors))

    def output(self, node, tensors):
        self.tensors.append(tensors)
        x = tensors[0]
        node.set_output(True).set_uid(len(self.tensors))
        node.set_dim(list(x.shape)).set_stride(list(x.stride())).set_data_type(x.dtype)

    def fastest(self, error, limit=1, without=()):
        """The fastest launch whose result is right: error() of the output, which was added last.

        `without` has the numerical notes of the plans to leave out.
        """
        graph, modes = self.graph, self.cudnn.heur_mode
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([modes.A, modes.B, modes.FALLBACK])
        graph.deselect_numeric_notes([self.cudnn.numerical_note.DOWN_CONVERT_INPUTS, *without])
        graph.deselect_workspace_greater_than(MAX_WORKSPACE)
        graph.check_support()
        launches = self.launches(self.plans())
        while True:
            best, output = self.b.fastest(launches), self.tensors[-1][0]
            output.fill_(float("nan"))
            try:
                return verified(best, error, limit)
            except ValueError:
                if len(launches) == 1:
                    raise
                launches.remove(best)

    def plans(self):
        """The numbers of the first plans that cuDNN can build. The heuristics may list a plan twice."""
        built, failure = {}, "it has none"
        for plan in range(self.graph.get_execution_plan_count()):
            name = self.graph.get_plan_name_at_index(plan)
            if name in built or len(built) == MAX_PLANS:
                continue
            try:
                self.graph.build_plan_at_index(plan)
                built[name] = plan
            except (RuntimeError, self.cudnn.cudnnGraphNotSupportedError) as problem:
                failure = first_line(problem)
        if not built:
            raise Absent(f"cuDNN builds no plan for the graph: {failure}")
        return list(built.values())

    def launches(self, plans):
        """The launches of plans, which share their workspace."""
        sizes = [self.graph.get_workspace_size_plan_at_index(plan) for plan in plans]
        workspace = torch.empty(max(1, *sizes), dtype=torch.uint8, device="cuda")
        places = [{uid: tensors[i].data_ptr() for uid, tensors in enumerate(self.tensors, 1)}
                  for i in range(len(self.tensors[0]))]

        def launch_of(plan):
            def launch(i):
                self.graph.execute_plan_at_index(places[i], workspace.data_ptr(), plan, handle())

            return launch

        return [launch_of(plan) for plan in plans]


def attention(b, q, k, v, o, scale, causal, error):
    """q and o are B x H x M x D, k and v are B x KV x N x D. `error` is a function of the output of set 0."""
    graph = Graph(b)
    corners, mask = graph.cudnn.diagonal_alignment, {}
    if causal:  # the last query sees all keys
        is_square = q[0].shape[2] == k[0].shape[2]
        mask = dict(diagonal_alignment=corners.TOP_LEFT if is_square else corners.BOTTOM_RIGHT,
                    diagonal_band_right_bound=0)
    result, _ = graph.graph.sdpa(q=graph.input(q), k=graph.input(k), v=graph.input(v), generate_stats=False,
                                 attn_scale=scale, **mask)
    graph.output(result, o)
    return graph.fastest(lambda: error(o[0]), limit=2)


def convolution(b, x, f, y, stride, padding, dilation, error):
    """x is N x C x H x W, f is K x C x R x S, y is N x K x P x Q, with any strides."""
    graph = Graph(b)
    result = graph.graph.conv_fprop(image=graph.input(x), weight=graph.input(f), padding=list(padding),
                                    stride=list(stride), dilation=list(dilation))
    graph.output(result, y)
    is_float = x[0].dtype == torch.float32  # our kernel does not round floats to tf32
    return graph.fastest(error, without=[graph.cudnn.numerical_note.TENSOR_CORE] if is_float else [])


def norm(b, x, gain, bias, y, epsilon, error):
    """Layer norm of rows, or without biases RMS norm."""
    graph = Graph(b)
    rows, columns = x[0].shape

    def wide(tensors, count):
        return [each.view(count, columns, 1, 1) for each in tensors]

    centered, value = bias[0] is not None, torch.full((1, 1, 1, 1), epsilon, dtype=torch.float32)
    inputs = dict(input=graph.input(wide(x, rows)), scale=graph.input(wide(gain, 1)),
                  epsilon=graph.input([value] * len(x)))
    if centered:
        inputs["bias"] = graph.input(wide(bias, 1))
    operation = graph.graph.layernorm if centered else graph.graph.rmsnorm
    result, *_ = operation(norm_forward_phase=graph.cudnn.norm_forward_phase.INFERENCE, **inputs)
    graph.output(result, wide(y, rows))
    return graph.fastest(error)
