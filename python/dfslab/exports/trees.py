"""What exporters of call trees have in common."""

from __future__ import annotations

# Most calls of a document; viewers take seconds to open more.
MOST_EVENTS = 100_000
# Nodes of this kind repeat what their callers already show.
DETAIL = "detail"
