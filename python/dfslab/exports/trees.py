"""Constants that all exporters of call trees use."""

from __future__ import annotations

# Largest number of calls in an exported document. Viewers take seconds to open more.
MOST_EVENTS = 100_000
# Kind of nodes whose time is already part of their callers' time.
DETAIL = "detail"
