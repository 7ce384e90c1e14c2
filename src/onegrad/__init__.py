"""Theory, simulation and estimators for networks trained with one gradient step.

Every name in `__all__` is promised to users; the rest of the package may change. The names stand in
`__init__.pyi`, and a room is loaded when one of its names is first used: importing onegrad costs
nothing, and using it NumPy and SciPy only.
"""

import lazy_loader

__version__ = "0.4.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
