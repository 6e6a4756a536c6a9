"""dfslab is a performance laboratory for distributed file systems."""

from importlib import import_module

# The names of `dfslab.api`. `dfslab.api` is imported when one of these names is first used, so
# `import dfslab` alone loads no library.
__all__ = [
    "InputError",
    "PredictedScenario",
    "Result",
    "Run",
    "RunFailed",
    "Scenario",
    "Transfers",
    "__version__",
    "advise",
    "compare",
    "design",
    "explain",
    "learn",
    "load_run",
    "load_trace",
    "measure",
    "net",
    "plan",
    "predict",
    "run",
    "scenario",
    "whatif",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dfslab' has no attribute {name!r}")
    if name == "__version__":
        # The version is read here and not at import, because the set-up runs modules before the
        # package is installed.
        from importlib.metadata import version

        return version("dfslab")
    return getattr(import_module("dfslab.api"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
