"""Theory, simulation and estimators for networks trained with one gradient step.

Every name in `__all__` is promised to users; the rest of the package may change. The names stand in
`__init__.pyi`, and a package is loaded when one of its names is first used: importing onegrad costs
nothing, and using it NumPy and SciPy only.
"""

__version__ = "0.4.0.dev0"


def __getattr__(name: str) -> object:
    """Read the stub when a first name is asked for: until then Ctrl-C has nothing to hit."""
    import lazy_loader

    face = lazy_loader.attach_stub(__name__, __file__)
    globals().update(zip(("__getattr__", "__dir__", "__all__"), face, strict=True))
    return globals()["__all__"] if name == "__all__" else face[0](name)


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")  # type: ignore[assignment]
    return names
