"""Rows from anywhere: a source has partitions, a partition gives blocks.

A :class:`Source` is a data set: arrays, a table, files of any size, a stream, a Dask collection.
It is a list of partitions, small values that any process can read on its own, again and again. A
partition gives its rows as :class:`~onegrad.data.partitions.RowBlock` values, consecutive rows that
fit in memory, one after the other. A pass over the data is :func:`sum_over_partitions` of a
function of one partition, so that the number of workers, partitions and blocks changes nothing.
"""

from onegrad.data.partitions import sum_over_partitions as sum_over_partitions
from onegrad.data.sources import Source as Source
from onegrad.data.sources import source as source
