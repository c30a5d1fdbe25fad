"""Memory that has been used once stays with the process: page faults would be most of the time of arrays of 1 to 10 MB.

glibc returns the top of the heap whenever more than twice the largest block it ever unmapped is free there, and asks for it
again, page by page, a moment later (mallopt(3), "dynamic mmap threshold"). One block of 24 MiB, mapped and unmapped without
being touched, moves that border to 48 MiB, which is what a process may then hold on to. Other allocators do not notice.
"""

import functools

import numpy as np

BLOCK = 24 << 20
"""Bytes; a threshold above 32 MiB glibc does not take."""


@functools.cache
def keep() -> None:
    """Done once, when a transformation or a compiled program first meets a large array."""
    np.empty(BLOCK, np.uint8)
