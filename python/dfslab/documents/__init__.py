"""Documents that cross rooms, as types: what is measured, traced, fitted and answered."""
