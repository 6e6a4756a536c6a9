"""Constants that all exporters of call trees use."""

from __future__ import annotations

# Largest number of calls in a document; viewers take seconds to open more.
MOST_EVENTS = 100_000
# Nodes of this kind repeat time that their callers already show.
DETAIL = "detail"
