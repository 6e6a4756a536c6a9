"""Maps each optional library to the installation extra that installs it. The error message about a
missing library names the extra."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "formulas": ("sympy", "mpmath"),
    "fit": ("scipy", "statsmodels", "pandas", "patsy"),
    "learn": ("sklearn", "mapie", "shap", "SALib", "threadpoolctl", "numba", "joblib"),
    "fleet": ("distributed", "dask"),
    "page": ("jinja2", "markupsafe"),
    "serve": ("starlette", "uvicorn", "anyio", "h11"),
    "tables": ("duckdb", "pyarrow"),
    "darshan": ("darshan",),
}
BROUGHT_BY = {module: extra for extra, modules in EXTRAS.items() for module in modules}


def absent(extra: str) -> tuple[str, ...]:
    """Returns the libraries of an installation extra that are not installed."""
    return tuple(name for name in EXTRAS[extra] if not _is_installed(name))


def _is_installed(library: str) -> bool:
    # `find_spec` raises this error if an import hook, as in some packaged applications, refuses the
    # library.
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def missing(error: ModuleNotFoundError) -> str | None:
    """Returns a line that names the missing library and the extra that installs it; None if no
    extra installs it."""
    module = (error.name or "").partition(".")[0]
    extra = BROUGHT_BY.get(module)
    if extra is None:
        return None
    return (
        f"{module} is not installed; the extra {extra!r} brings it: pip install 'dfslab[{extra}]'"
    )
