"""Ridge on the rows of the step.

`same_row_errors` gives training and test error where ridge is fitted on the very rows of the
gradient step, derived in docs/same_rows.md: `training_rows` is the law of such a row, `features`
its Gaussian equivalent, `fixed_point` the equations of the bulk, `label_fit` those of the labels,
`response` the test error.
"""
