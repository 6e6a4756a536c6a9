"""Emulates the network between hosts: a switch with a link to each host. Rates are limited by tbf.
Packets are delayed by netem or by a delay line.

A link is shaped at both ends: outgoing traffic of a host at the host's adapter, incoming traffic at
the switch's port. The size of a shaper's buffer is part of the emulated network. The size is the
burst plus the link's rate times (BUFFER_S + 2 * the link's delay).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dfslab.spec.deployment import SEGMENT_BYTES, SHAPED_BYTES, Emulation
from dfslab.testbeds.hosts import kernel
from dfslab.testbeds.hosts.host import DATA_ADAPTER, Host

PREFIX_LENGTH = 24
SUBNET = "10.77.0"
MOST_HOSTS = 250
BUFFER_S = 0.010
BURST_S = 0.001
# The defaults of the properties that only an emulated network has. `burst`: bytes that a
# rate-limited adapter transmits without being slowed down. `delay`: smallest delay in seconds that
# the delay-line process emulates.
EMULATION = Emulation()
LEAST_BURST_BYTES = int(EMULATION.burst)
QUEUE = 7
# The payload's share of a full frame, in bytes of payload per byte that the shaper counts.
PAYLOAD_SHARE = SEGMENT_BYTES / SHAPED_BYTES
# Smallest delay in seconds that a delay line emulates. For smaller delays, the process of the delay
# line would add more than the declared delay. Packets between the hosts take about this long even
# without a delay line.
LEAST_DELAY_S = EMULATION.delay


@dataclass(frozen=True)
class EmulatedLink:
    """The declared link of one host. A property that is None or 0 is not emulated."""

    rate_bytes_per_s: float | None = None
    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0

    @property
    def delayed(self) -> bool:
        """Returns whether packets on this link must be delayed or dropped by the emulation."""
        return self.delay_s >= LEAST_DELAY_S or self.jitter_s > 0 or self.loss > 0


def address(number: int) -> str:
    """Returns the IP address of host `number`, counted from 1.

    The networks of different testbeds are isolated, so they use the same addresses.
    """
    assert 1 <= number <= MOST_HOSTS, f"host {number} of at most {MOST_HOSTS}"
    return f"{SUBNET}.{number}"


def switch_script(hosts: Sequence[Host], links: Sequence[EmulatedLink]) -> str:
    """Returns shell commands that connect and shape the port of every host.

    The commands run in the switch's network namespace.
    """
    lines = [
        "set -e",
        "ip -batch - <<END",
        "link add br0 type bridge forward_delay 0",
        "link set br0 up",
    ]
    for number, host in enumerate(hosts, 1):
        peer = f"peer name {DATA_ADAPTER} netns {host.init.pid}"
        lines += [f"link add p{number} type veth {peer}", f"link set p{number} master br0 up"]
    lines.append("END")
    for number, link in enumerate(links, 1):
        lines += shaper(f"p{number}", link)
    return "\n".join(lines)


def host_script(host: Host, link: EmulatedLink, congestion: str) -> str:
    """Returns shell commands that set a host's address, rate, delay and congestion control.

    The commands run in the host.
    """
    net = f"{SUBNET}.0/{PREFIX_LENGTH}"
    lines = [
        "set -e",
        "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6",
        "ip link set lo up",
        f"ip addr add {host.address}/{PREFIX_LENGTH} dev {DATA_ADAPTER}",
        f"ip link set {DATA_ADAPTER} up",
        # The congestion-control algorithm is set on the route. The kernel accepts any algorithm
        # there, but only some algorithms as a setting of the network namespace.
        f"ip route replace {net} dev {DATA_ADAPTER} src {host.address} congctl lock {congestion}",
        *shaper(DATA_ADAPTER, link),
    ]
    if link.delayed:
        lines += _delay(link)
    return "\n".join(lines)


def cut_script(number: int) -> str:
    """Returns shell commands that disconnect host `number`. The commands run in the switch's
    network namespace."""
    return f"ip link set p{number} down"


def plug_script(number: int, link: EmulatedLink) -> str:
    """Returns shell commands that restore the declared link at the port of host `number`.

    The commands run in the switch's network namespace.
    """
    lines = [
        f"tc qdisc del dev p{number} root 2>/dev/null || true",
        *shaper(f"p{number}", link),
        f"ip link set p{number} up",
    ]
    return "\n".join(lines)


def slow_script(adapter: str, link: EmulatedLink, rate_bytes_per_s: float) -> str:
    """Returns shell commands that reduce the rate of a link at one of its ends to
    `rate_bytes_per_s`. `adapter` is the network adapter at this end."""
    return "\n".join(shaper(adapter, replace(link, rate_bytes_per_s=rate_bytes_per_s)))


def declared_script(link: EmulatedLink) -> str:
    """Returns shell commands that restore the declared rate of a host's adapter. The commands run
    in the host."""
    delays = _delay(link) if link.delayed and kernel.has("netem") else []
    gone = f"tc qdisc del dev {DATA_ADAPTER} root 2>/dev/null || true"
    return "\n".join([gone, *shaper(DATA_ADAPTER, link), *delays])


def shaper(adapter: str, link: EmulatedLink) -> list[str]:
    """Returns shell commands that limit the rate of an adapter. The new limit replaces any earlier
    limit. The list is empty if the link has no rate limit."""
    if link.rate_bytes_per_s is None:
        return []
    burst = max(LEAST_BURST_BYTES, round(link.rate_bytes_per_s * BURST_S))
    limit = burst + round(link.rate_bytes_per_s * (BUFFER_S + 2 * link.delay_s))
    rate = round(link.rate_bytes_per_s * 8)
    return [
        f"tc qdisc replace dev {adapter} root handle 1: tbf rate {rate}bit burst {burst}b"
        f" limit {limit}"
    ]


def _delay(link: EmulatedLink) -> list[str]:
    """Returns shell commands by which a host's incoming packets are delayed. If the kernel has
    netem, netem delays them. Otherwise, the commands pass them to the process of the delay line.

    Packets are delayed at the receiving host, because a delay at the sending host would throttle
    the sender's queues.
    """
    if kernel.has("netem"):
        parent = "root" if link.rate_bytes_per_s is None else "parent 1:1"
        jitter = f" {round(link.jitter_s * 1e6)}us distribution normal" if link.jitter_s else ""
        loss = f" loss {link.loss * 100:g}%" if link.loss else ""
        return [
            f"tc qdisc add dev {DATA_ADAPTER} {parent} netem limit 100000"
            f" delay {round(link.delay_s * 1e6)}us{jitter}{loss}"
        ]
    return [
        f"iptables-legacy -t mangle -A PREROUTING -i {DATA_ADAPTER}"
        f" -j NFQUEUE --queue-num {QUEUE} --queue-bypass"
    ]


def delay_line(hosts: Sequence[Host], links: Sequence[EmulatedLink], seed: int) -> list[str] | None:
    """Returns the command line of the process that delays packets. Returns None if this process is
    not needed: no link has delays, or the kernel has netem, which delays the packets."""
    if kernel.has("netem"):
        return None
    lines = [
        {
            "netns": f"/proc/{host.init.pid}/ns/net",
            "queue": QUEUE,
            "delay_s": link.delay_s,
            "jitter_s": link.jitter_s,
            "loss": link.loss,
            "seed": seed + number,
        }
        for number, (host, link) in enumerate(zip(hosts, links, strict=True))
        if link.delayed
    ]
    if not lines:
        return None
    return [sys.executable, "-m", "dfslab.testbeds.hosts.delay_line", json.dumps(lines)]
