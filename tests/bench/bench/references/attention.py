"""Attention in double, some heads and queries at a time."""

import torch

from bench import check
from bench.references import SIGMAS

SLICE = 1 << 27  # elements of a matrix of doubles: 1 GiB


def error(outputs, log_sums, q, k, v, scale, causal, scores=1 << 35):
    """The max error of the outputs and of the log sums (or None), relative to the bound.

    q and the outputs are heads x M x D, k and v are heads x N x D. With fewer heads of k than of q,
    adjacent heads of q share a head of k. The comparison has about `scores` scores at most: if there are
    more, it takes heads at equal distances, among them the first and the last one.
    """
    heads, m, d = q.shape
    n, group = k.shape[1], heads // k.shape[0]
    count = min(heads, max(2, scores // (m * n)))
    chosen = torch.linspace(0, heads - 1, count, dtype=torch.float64).round().long().unique().to(q.device)
    rows = min(m, max(1, SLICE // n))
    worst = 0.0
    for some in chosen.split(max(1, SLICE // (n * max(rows, d)))):
        keys, values = k[some // group].double(), v[some // group].double()
        for first in range(0, m, rows):
            part = slice(first, first + rows)
            last = torch.arange(m, device=q.device)[part] + n - m if causal else None
            worst = max(worst, error_of_part([each[some, part] for each in outputs],
                                             None if log_sums is None else log_sums[some, part],
                                             q[some, part].double(), keys, values, scale, last))
    return worst


def error_of_part(outputs, log_sums, q, keys, values, scale, last):
    """`error` of some queries. Query i sees the keys up to last[i]; None: all keys."""
    (n, d), type = keys.shape[1:], outputs[0].dtype
    scores = torch.bmm(q, keys.transpose(1, 2)).mul_(scale)
    if last is not None:
        scores.masked_fill_(torch.arange(n, device=q.device) > last[:, None], -torch.inf)
    sums = scores.logsumexp(2)
    weights = scores.sub_(sums[:, :, None]).exp_()
    if last is not None:
        weights.nan_to_num_(nan=0.0)  # a query that sees no key
    reference = torch.bmm(weights, values)
    root = torch.bmm(weights.square_(), values.square()).sqrt_()

    # A score is a sum of d products in float. The kernel rounds a weight to `type`. An output is a sum
    # of n products in float.
    of_score = (d + 16) * 2.0**-24 * scale * q.abs().sum(2) * keys.abs().max()
    of_sum = (n + 64) * 2.0**-24
    before = SIGMAS * (check.ROUNDING[type] + of_score + of_sum)[:, :, None] * root
    errors = [check.error(output, reference, before) for output in outputs]
    if log_sums is not None:
        errors.append(check.error(log_sums, sums, of_score + of_sum + 2.0**-20))
    return max(errors)
