"""Peers: what others offer for the same operation. A peer that cannot run raises Absent."""


class Absent(Exception):
    """A peer is missing here, or does not support the shape. The text is the reason."""
