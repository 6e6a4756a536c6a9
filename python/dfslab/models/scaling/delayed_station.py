"""Solves a closed queueing network of one delay and one station. The station serves faster if more
requests are present.

Examples are a disk that reorders its queue, and a server that batches requests. With n requests at
the station, its service rate is n ** gain / demand. A gain of 0 is an ordinary single server, a
gain of 1 a delay. The network has a product form, so its rate follows exactly from normalisation
constants (Buzen 1973, with load-dependent service rates).
"""

from __future__ import annotations

from math import lgamma, log

import numpy as np


def rate_per_s(clients: int, delay_s: float, demand_s: float, gain: float) -> float:
    """Returns the operations per second of all clients together.

    Each client has one operation in progress at all times. An operation spends `delay_s` seconds
    outside the station, and `demand_s` seconds at the station when no other operation is there.
    """
    assert clients >= 1, "a closed network has at least one client"
    assert demand_s > 0, "the station takes time"
    assert delay_s >= 0, "a delay is not negative"
    if delay_s == 0:
        return float(clients**gain / demand_s)
    larger = _log_constant(clients, delay_s, demand_s, gain)
    return float(np.exp(_log_constant(clients - 1, delay_s, demand_s, gain) - larger))


def _log_constant(clients: int, delay_s: float, demand_s: float, gain: float) -> float:
    """Returns the natural logarithm of the network's normalisation constant (Buzen 1973). The
    constant is a sum over n: the weights of the states with n requests at the station."""
    factorials = np.array([lgamma(n + 1) for n in range(clients + 1)])
    present = np.arange(clients + 1)
    terms = present[::-1] * log(delay_s) - factorials[::-1]
    terms += present * log(demand_s) - gain * factorials
    largest = float(terms.max())
    return largest + float(np.log(np.exp(terms - largest).sum()))
