# The public face, the one list of its names: type checkers read it, and so does lazy_loader, which
# loads a room when one of its names is first used.
from .comparison import Comparison as Comparison
from .comparison import compare as compare
from .exceptions import AssumptionWarning as AssumptionWarning
from .exceptions import InvalidInput as InvalidInput
from .exceptions import NotConverged as NotConverged
from .exceptions import OutOfScope as OutOfScope
from .functions import Function as Function
from .functions import exponents as exponents
from .functions import register as register
from .networks import Simulation as Simulation
from .networks import simulate as simulate
from .networks.cost import cost as cost
from .problem import Problem as Problem
from .tables import AlternatingClassifier as AlternatingClassifier
from .tables import AlternatingRegressor as AlternatingRegressor
from .tables import OneStepClassifier as OneStepClassifier
from .tables import OneStepFeatures as OneStepFeatures
from .tables import OneStepRegressor as OneStepRegressor
from .theory import Optimum as Optimum
from .theory import Prediction as Prediction
from .theory import Spectrum as Spectrum
from .theory import optimum as optimum
from .theory import predict as predict
from .theory import spectrum as spectrum
from .theory import spike_count as spike_count
from .theory import thresholds as thresholds
from .theory import two_step_outliers as two_step_outliers

__all__: list[str]
__version__: str
