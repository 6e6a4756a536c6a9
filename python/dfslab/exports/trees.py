"""Constants that all exporters of call trees use."""

from __future__ import annotations

# Largest number of calls in an exported document. Viewers take several seconds to open a larger
# document.
MOST_EVENTS = 100_000
# The kind of call tree nodes whose time is already counted as their callers' time.
DETAIL = "detail"
