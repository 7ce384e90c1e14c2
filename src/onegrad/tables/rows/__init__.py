"""Rows from anywhere: a source has partitions, a partition gives blocks.

A :class:`~onegrad.tables.rows.sources.Source` is a data set: arrays, a table, files of any size, a
stream, a Dask collection. It is a list of partitions, small values that any process can read on its
own, again and again. A partition gives its rows as
:class:`~onegrad.tables.rows.partitions.RowBlock` values, consecutive rows that fit in memory, one
after the other. A pass over the data is `sum_over_partitions` of a function of one partition, so
that the number of workers, partitions and blocks changes nothing.
"""
