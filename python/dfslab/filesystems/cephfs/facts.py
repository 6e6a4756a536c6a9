"""What is known of CephFS: roles, parameters with sources, legal pools and layouts, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfslab.spec.filesystem import Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "CephFS"
SOURCE = "Ceph 16 (Pacific) documentation: file layouts, erasure code, BlueStore, client settings"
# The monitors and the manager are on no path of data or names, so they are no role here.
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("mds", "metadata", "MetadataServer"),
    Role("osd", "data", "ObjectStorageDaemon", instances=3),
)

PARAMETERS = Parameters(
    Parameter("data_fragments", "Pieces an object is cut into (erasure code k), else 1", "1",
              "filesystem", 1.0, "", "erasure-code-profile k", minimum=1),
    Parameter("copies", "OSDs that store each object: pool size, or k + m", "1", "filesystem",
              2.0, "Rp1", "osd_pool_default_size", minimum=1),
    Parameter("stripe_unit", "Bytes in a row in one object", "B", "filesystem", 2.0**22, "",
              "ceph.dir.layout.stripe_unit", minimum=65536),
    Parameter("stripe_count", "Objects a file is written round robin to", "1", "filesystem", 1.0,
              "", "ceph.dir.layout.stripe_count", minimum=1),
    Parameter("object_size", "Bytes of an object", "B", "filesystem", 2.0**22, "Dap1",
              "ceph.dir.layout.object_size", minimum=65536),
    Parameter("max_dirty", "Written bytes a client holds before it waits for OSDs", "B",
              "filesystem", 2.0**20 * 100, "", "client_oc_max_dirty", minimum=4096),
    Parameter("read_ahead_periods", "Objects (or stripes) a client reads ahead", "1",
              "filesystem", 4.0, "", "client_readahead_max_periods", minimum=1),
    Parameter("placement_groups", "Placement groups of the data pool", "1", "filesystem", 16.0,
              "", "osd pool create", minimum=1, daemons_only=True),
    Parameter("client_call_cpu", "Client time of one call (FUSE and request)", "s",
              "calibrated", 1e-4),
    Parameter("lookup_cpu", "Metadata server time of a call that only reads", "s", "calibrated",
              1e-4),
    Parameter("update_cpu", "Metadata server time of a call that changes metadata", "s",
              "calibrated", 2e-4),
    Parameter("entry_cpu", "Metadata server time of one listed entry", "s", "calibrated", 5e-6),
    Parameter("journal_bytes", "Bytes of the metadata journal that one change fills", "B",
              "calibrated", 2048.0),
    Parameter("object_cpu", "OSD time of one object request", "s", "calibrated", 2e-4),
    Parameter("client_byte_cpu", "Client time of a byte copied: to its cache, to the network",
              "s/B", "calibrated", 5e-10),
    Parameter("osd_byte_cpu", "OSD time of a byte moved (checksum, copy)", "s/B",
              "calibrated", 1e-9),
    Parameter("commit_bytes", "Bytes of BlueStore's own log that one object write fills", "B",
              "calibrated", 4096.0),
    # Each of 16 groups of 2 copies leaves out one of 3 OSDs: 10.7 groups an OSD, give or take 1.9.
    # The largest of three is about 0.9 deviations above the mean: 1.16 times it.
    Parameter("imbalance", "Data of the fullest OSD, over the mean", "1", "calibrated", 1.16,
              spread=0.15),
)  # fmt: skip

ACCESS_KEYS = ("bed", "directory")


def check(parameters: Mapping[str, Any], instances: Mapping[str, int]) -> list[tuple[str, str]]:
    """Copies live on different OSDs; layouts are whole; erasure code needs a spare fragment."""
    copies, fragments, osds = (
        parameters["copies"], parameters["data_fragments"], instances["osd"])  # fmt: skip
    counts = ("copies", "data_fragments", "stripe_count")
    wrong = [(key, "a whole number") for key in counts if parameters[key] % 1]
    if copies > osds:
        wrong.append(("copies", f"at most the {osds} OSDs deployed"))
    if fragments > 1 and fragments >= copies:
        wrong.append(("data_fragments", "fewer than copies (k of k + m)"))
    if parameters["stripe_unit"] % 65536:
        wrong.append(("stripe_unit", "a multiple of 64 KiB"))
    elif parameters["object_size"] % parameters["stripe_unit"]:
        wrong.append(("object_size", "a multiple of stripe_unit"))
    if instances["mds"] != 1:
        wrong.append(("mds", "exactly one active metadata server is described"))
    return wrong


def target(access: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The load generator's target: POSIX calls under a mounted CephFS."""
    return {"kind": "posix", "root": access["directory"]}
