"""Maps of a function over items in parallel: threads, processes, Dask clusters.

========================  ==============  =====================================================
``thread_map``            `threads`       threads of this process, results in order
``pool_map``              `threads`       the threads of the pool that this thread has opened
``process_map``           `children`      joblib's processes, results in order
``child_map``             `children`      processes of our own, results as they finish
``cluster_map``           `cluster`       workers of a Dask cluster, results as they finish
``cluster_sum``           `cluster`       the same, added up on the workers
========================  ==============  =====================================================

`core_count` (in `cores`) is the only place where cores are counted. What starts processes is
imported from its own file, so that threads alone cost no import of it.
"""
