"""How much is done at a time follows from sizes and threads alone, and is decided once."""

from itertools import product

import pytest

from onegrad.arrays import ExecutionPolicy, get_ops
from onegrad.arrays.numpy_ops import MAX_KEPT_ENTRIES, MAX_WORKER_ENTRIES


def test_blocks_are_whole(each_backend):
    for threads, entries in product((1, 2, 3, 16), (1, 1000, 10**7)):
        policy = each_backend.policy(threads)
        rows = policy.block_rows(1024, entries)
        assert rows >= 1024 and rows % 1024 == 0, (threads, entries)
        assert policy.block_rows(1024, 10 * entries) <= rows, (threads, entries)


def test_one_thread_takes_one_block_and_one_network_at_a_time_and_more_share():
    one, policy, many = (get_ops().policy(threads) for threads in (1, 4, 16))
    assert one == ExecutionPolicy() and one.worker is one
    assert one.block_rows(1024, 500) == 1024
    assert one.stack_size(100) == one.stacks_at_once == one.row_workers(10**6, 100) == 1
    assert policy == get_ops().policy(4) != many and policy.worker == one
    assert policy.row_workers(10**6, 1000) == 4
    assert policy.row_workers(1024, 1000) == 1  # three threads would be idle
    assert policy.row_workers(10**6, MAX_WORKER_ENTRIES) == 1  # four sums take too much memory
    for p, times in ((one, 1), (many, 4)):  # more threads may keep more
        assert p.fits_in_memory(times * MAX_KEPT_ENTRIES)
        assert not p.fits_in_memory(times * MAX_KEPT_ENTRIES + 1)


@pytest.mark.torch
def test_torch_shares_no_rows_between_threads_and_leaves_blas_alone():
    policy = get_ops("torch").policy(8)
    assert policy.row_workers(10**7, 1) == 1 and policy.blas_threads is None
    assert policy.worker is policy
