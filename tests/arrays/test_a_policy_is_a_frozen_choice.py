"""How much is done at a time follows from sizes and threads alone, and is decided once."""

from __future__ import annotations

from itertools import product

import pytest

from onegrad.arrays import ExecutionPolicy, get_ops
from onegrad.arrays.policy import MAX_KEPT_ENTRIES, MAX_WORKER_ENTRIES


def test_it_is_equal_for_equal_threads():
    assert get_ops().policy(4) == get_ops().policy(4) != get_ops().policy(2)


def test_blocks_are_whole(each_backend):
    for threads, entries in product((1, 2, 3, 16), (1, 1000, 10**7)):
        policy = each_backend.policy(threads)
        rows = policy.block_rows(1024, entries)
        assert rows >= 1024 and rows % 1024 == 0, (threads, entries)
        assert policy.block_rows(1024, 10 * entries) <= rows, (threads, entries)


def test_one_thread_takes_one_block_and_one_network_at_a_time():
    alone = get_ops().policy(1)
    assert alone == ExecutionPolicy() and alone.worker is alone
    assert alone.block_rows(1024, 500) == 1024
    assert alone.stack_size(100) == alone.stacks_at_once == alone.row_workers(10**6, 100) == 1


def test_many_rows_and_small_sums_are_for_row_workers():
    policy = get_ops().policy(4)
    assert policy.row_workers(10**6, 1000) == 4
    assert policy.row_workers(1024, 1000) == 1  # three threads would be idle
    assert policy.row_workers(10**6, MAX_WORKER_ENTRIES) == 1  # four sums take too much memory
    assert policy.worker == get_ops().policy(1)


def test_more_threads_may_keep_more():
    one, many = get_ops().policy(1), get_ops().policy(16)
    assert one.fits_in_memory(MAX_KEPT_ENTRIES) and not one.fits_in_memory(MAX_KEPT_ENTRIES + 1)
    assert many.fits_in_memory(4 * MAX_KEPT_ENTRIES)
    assert not many.fits_in_memory(4 * MAX_KEPT_ENTRIES + 1)


@pytest.mark.torch
def test_torch_shares_no_rows_between_threads_and_leaves_blas_alone():
    policy = get_ops("torch").policy(8)
    assert policy.row_workers(10**7, 1) == 1 and policy.blas_threads is None
    assert policy.worker is policy
