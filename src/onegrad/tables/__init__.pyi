# The names of this room. lazy_loader loads a module when one of its names is first used: rows are
# read without scikit-learn, and Adam's steps are taken without pyarrow.
from .families import FAMILIES as FAMILIES
from .families import Family as Family
from .families import load as load
from .model.files import save as save
from .rows.partitions import sum_over_partitions as sum_over_partitions
from .rows.sources import Source as Source
from .rows.sources import source as source
from .sklearn_api.alternating_estimators import AlternatingClassifier as AlternatingClassifier
from .sklearn_api.alternating_estimators import AlternatingRegressor as AlternatingRegressor
from .sklearn_api.one_step_estimators import OneStepClassifier as OneStepClassifier
from .sklearn_api.one_step_estimators import OneStepFeatures as OneStepFeatures
from .sklearn_api.one_step_estimators import OneStepRegressor as OneStepRegressor

__all__: list[str]
