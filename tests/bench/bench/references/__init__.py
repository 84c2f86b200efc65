"""References in double on the GPU, and bounds of the errors that a result has before it is rounded.

The bounds use that the operands are random with both signs. A sum of such terms, or of their rounding
errors, is within SIGMAS times the root of the sum of squares. A bound of the worst case grows faster
with the number of terms, so it would hide wrong elements of long sums.
"""

SIGMAS = 4.0
