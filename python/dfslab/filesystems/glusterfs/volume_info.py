"""Reads the layout and the options of a GlusterFS volume from `gluster volume info`, or from the
virtual files of its mount."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dfslab.filesystems.glusterfs.facts import PARAMETERS
from dfslab.spec.systems.discovery import Command, SystemDiscovery, with_port
from dfslab.spec.systems.mounts import ExistingFileSystem
from dfslab.spec.units import parse

GLUSTERD_PORT = 24007
# Patterns of the line with the number of bricks, for each type of volume: "Number of Bricks: 2 x 3
# = 6" for a replicated volume, "Number of Bricks: 1 x (2 + 1) = 3" for a dispersed volume, and
# "Number of Bricks: 3" for any other volume.
_REPLICATED = re.compile(r"^Number of Bricks: \d+ x (\d+) = (\d+)", re.MULTILINE)
_DISPERSED = re.compile(r"^Number of Bricks: \d+ x \((\d+) \+ (\d+)\) = (\d+)", re.MULTILINE)
_PLAIN = re.compile(r"^Number of Bricks: (\d+)$", re.MULTILINE)
_BRICK = re.compile(r"^Brick\d+: ([^:]+):", re.MULTILINE)
_OPTION = re.compile(r"^([a-z]+\.[a-z-]+): (\S+)$", re.MULTILINE)
_SWITCH = {"on": 1.0, "off": 0.0, "enable": 1.0, "disable": 0.0, "true": 1.0, "false": 0.0}


def discover(found: ExistingFileSystem, command: Command) -> SystemDiscovery:
    """Returns the bricks, copies and options that `gluster volume info` reports for a mounted
    volume.

    If that command does not answer, bricks and copies are derived from the names of the client's
    translators. These names are read from the virtual folder `.meta` of the mount.
    """
    host, _, volume = found.source.partition(":")
    name = volume.strip("/")
    for remote in ([f"--remote-host={host}"], []):
        text = command(["gluster", "--mode=script", *remote, "volume", "info", name])
        if "Number of Bricks" in text:
            return of_volume_info(text)
    listed = command(["ls", f"{found.mounted_at}/.meta/graphs/active"])
    return of_client_graph(listed.split(), host)


def of_volume_info(text: str) -> SystemDiscovery:
    """Returns the bricks, copies and options that the output of `gluster volume info VOLUME`
    states."""
    bricks, layout = 0, {"copies": 1.0}
    if dispersed := _DISPERSED.search(text):
        data, redundancy, bricks = (int(one) for one in dispersed.groups())
        layout = {"copies": float(data + redundancy), "data_fragments": float(data)}
    elif replicated := _REPLICATED.search(text):
        layout, bricks = {"copies": float(replicated[1])}, int(replicated[2])
    elif plain := _PLAIN.search(text):
        bricks = int(plain[1])
    hosts = tuple(dict.fromkeys(with_port(one, GLUSTERD_PORT) for one in _BRICK.findall(text)))
    return SystemDiscovery(
        instances={"brick": bricks} if bricks else {},
        settings={**layout, **_options(dict(_OPTION.findall(text)))},
        addresses={"brick": hosts},
        sources=("gluster volume info",),
    )


def of_client_graph(names: list[str], host: str) -> SystemDiscovery:
    """Derives the bricks and copies of a volume from `names`, the names of a client's translators.

    There is one translator `client` for each brick, and one translator `replicate` or `disperse`
    for each set of bricks. If `names` has no translator `client`, the result has only the address
    of `host`. If the volume is dispersed, the result has no number of copies.
    """
    addresses = {"brick": (with_port(host, GLUSTERD_PORT),)} if host else {}
    bricks = sum(bool(re.search(r"-client-\d+$", one)) for one in names)
    sets = sum(bool(re.search(r"-(replicate|disperse)-\d+$", one)) for one in names)
    if not bricks:
        return SystemDiscovery(addresses=addresses)
    settings = {"copies": float(bricks // sets if sets else 1)}
    if any("-disperse-" in one for one in names):
        # The graph does not say how many of the bricks of a set store redundant fragments.
        settings = {}
    return SystemDiscovery(
        instances={"brick": bricks},
        settings=settings,
        addresses=addresses,
        sources=("the client's graph (.meta)",),
    )


def _options(written: Mapping[str, str]) -> dict[str, float]:
    """Returns the values of volume options that dfslab describes as parameters, by the key of the
    parameter. `written` has the values as text, by the name of the option. Options without such a
    parameter are left out."""
    values = {}
    for parameter in PARAMETERS.of_origin("filesystem").values():
        text = written.get(parameter.source)
        if text is None:
            continue
        if text in _SWITCH:
            values[parameter.key] = _SWITCH[text]
        elif parameter.unit == "B":
            values[parameter.key] = parse(text.replace("B", "").replace("i", "") + "iB", "B")
        elif text.isdecimal():
            values[parameter.key] = float(text)
    return values
