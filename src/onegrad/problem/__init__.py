"""The learning problem in one convention, with conversions from each paper's own."""

from onegrad.problem.definition import FIELDS as FIELDS
from onegrad.problem.definition import PRECONDITIONER_SHIFT as PRECONDITIONER_SHIFT
from onegrad.problem.definition import QUICK_START as QUICK_START
from onegrad.problem.definition import RATIO_FIELDS as RATIO_FIELDS
from onegrad.problem.definition import Problem as Problem
from onegrad.problem.definition import check_axes as check_axes
from onegrad.problem.definition import quick_start as quick_start
from onegrad.problem.definition import representation_warnings as representation_warnings
from onegrad.problem.fields import PAPERS as PAPERS
from onegrad.problem.fields import Field as Field
from onegrad.problem.fields import list_axes as list_axes
from onegrad.problem.laws import INPUT_LAWS as INPUT_LAWS
from onegrad.problem.laws import NOISE_LAWS as NOISE_LAWS
from onegrad.problem.laws import Law as Law
from onegrad.problem.laws import LawParameter as LawParameter
