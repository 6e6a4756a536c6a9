"""The local web application of `dfslab serve`: runs, live views, what-if sliders, token games."""
