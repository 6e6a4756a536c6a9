"""Models that predict other loads and sizes of a system from measurements of a few, without a
description of the system."""
