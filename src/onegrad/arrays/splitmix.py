"""The hash of 64-bit words that names random streams and orders rows."""

from typing import Any, TypeVar

import numpy as np

MASK_64 = 2**64 - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: the increment of splitmix64

Words = TypeVar("Words", int, np.ndarray[Any, np.dtype[np.uint64]])


def splitmix64(words: Words) -> Words:
    """Return the finaliser of splitmix64: every bit of a word reaches every bit of the result.

    It takes one integer below 2**64 (faster so than as NumPy's) or an array of uint64.
    """
    h: Any = words  # an int would grow past 64 bits: it is masked; an array wraps by itself
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = ((h ^ (h >> shift)) * factor) & MASK_64
    return h ^ (h >> 31)
