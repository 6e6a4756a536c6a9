"""Computes what jitter and loss of packets cost a TCP stream: a longer latency, a smaller window,
and retransmissions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dfslab.spec.deployment import SEGMENT_BYTES, Network

# Shortest timeout in seconds, without the round trip, after which Linux retransmits certain lost
# segments: those that no later segment follows (TCP_RTO_MIN; RFC 6298).
LEAST_TIMEOUT_S = 0.2
# Constants of CUBIC (RFC 9438): the scaling factor in segments per cubic second, and the factor by
# which a loss reduces the window.
CUBIC_SCALE, CUBIC_DECREASE = 0.4, 0.7


@dataclass(frozen=True)
class TcpPath:
    """Properties of the network path between two nodes for TCP streams. The properties include the
    effects of jitter and loss.

    `latency_s`: mean one-way latency. `window_bytes`: largest number of bytes in flight.
    `retransmission_s`: mean delay of a message because its last segment may be lost.
    """

    latency_s: float
    window_bytes: float
    retransmission_s: float


def tcp_path(network: Network) -> TcpPath:
    """Returns the TCP path over `network`, computed from its latency, jitter, loss and congestion
    control."""
    latency_s = mean_latency_s(network.latency, network.jitter)
    loss = network.loss
    if not loss:
        return TcpPath(latency_s, network.window, 0.0)
    in_flight = SEGMENT_BYTES * segments_in_flight(network.congestion, loss, 2 * latency_s)
    # Each retransmission is lost with the same probability, so the number of retransmissions of a
    # segment has a geometric distribution. `again` is the mean of this number.
    again = loss / (1.0 - loss)
    window_bytes = max(float(SEGMENT_BYTES), min(network.window, in_flight))
    return TcpPath(latency_s, window_bytes, again * (LEAST_TIMEOUT_S + 2 * latency_s))


def mean_latency_s(latency_s: float, jitter_s: float) -> float:
    """Returns the mean of a normally distributed latency, in which negative values count as 0.
    `jitter_s` is the standard deviation of the latency."""
    if not jitter_s:
        return latency_s
    ratio = latency_s / jitter_s
    positive = 0.5 * math.erfc(-ratio / math.sqrt(2.0))
    density = math.exp(-0.5 * ratio * ratio) / math.sqrt(2.0 * math.pi)
    return latency_s * positive + jitter_s * density


def segments_in_flight(congestion: str, loss: float, round_trip_s: float) -> float:
    """Returns the mean number of segments that a stream has in flight if each segment is lost with
    the probability `loss`. `congestion`: name of the congestion control. `round_trip_s`: round-trip
    time in seconds.

    - Reno: the number is sqrt(3 / (2 loss)) (Mathis et al. 1997).
    - CUBIC: the number is that of equation 6 in RFC 9438, but at least that of Reno.
    - BBR: the number is infinite, because BBR does not reduce its window after a loss.
    """
    reno = math.sqrt(3 / (2 * loss))
    if congestion == "reno":
        return reno
    if congestion == "bbr":
        return math.inf
    shape = CUBIC_SCALE * (3 + CUBIC_DECREASE) / (4 * (1 - CUBIC_DECREASE))
    cubic: float = shape ** (1 / 4) * (round_trip_s / loss) ** (3 / 4)
    return max(reno, cubic)
