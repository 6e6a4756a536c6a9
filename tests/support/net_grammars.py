"""Strict checks of written files against the grammars of CPN Tools and of PNML.

The table for CPN Tools is that of the document type "CPNXML 1.0", format 6
(http://cpntools.org/DTD/6/cpn.dtd), for the elements that dfslab writes: the allowed children in
their order, and the required attributes. Where the document type is not published, the order is
that of the files that CPN Tools 4.0.1 writes. The checks for PNML are those of the grammar
http://www.pnml.org/version-2009/grammar/ptnet.pntd.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

PICTURE = "posattr fillattr lineattr textattr"
DECLARATIONS = "(block|color|var|ml|globref|use)*"
KINDS = "(unit|bool|int|intinf|time|real|string|enum|index|product|record|list|union|alias|subset)"
LABEL = (f"{PICTURE} text", "id")
# For each element: its children as a pattern, and its required attributes. A child may have one of
# the signs ?, * and + of regular expressions.
CPN: dict[str, tuple[str, str]] = {
    "workspaceElements": ("generator cpnet", ""),
    "generator": ("", "tool version format"),
    "cpnet": ("globbox page+ fusion* instances options? binders? monitorblock* IndexNode?", ""),
    "globbox": (DECLARATIONS, ""),
    "block": (f"id {DECLARATIONS}", "id"),
    "color": (f"id declare? timed? {KINDS} layout?", "id"),
    "var": ("type id+ layout?", "id"),
    "ml": ("layout?", "id"),
    "timed": ("", ""),
    **dict.fromkeys(("unit", "bool", "int", "real", "string"), ("with?", "")),
    "enum": ("id+", ""),
    "product": ("id+", ""),
    "record": ("recordfield+", ""),
    "recordfield": ("id id", ""),
    "list": ("with? id", ""),
    "id": ("", ""),
    "text": ("", ""),
    "page": ("pageattr (place|trans|arc|Aux|group)* constraints?", "id"),
    "pageattr": ("", "name"),
    "constraints": ("", ""),
    "place": (f"{PICTURE} text ellipse token marking port? fusioninfo? type initmark?", "id"),
    "trans": (
        f"{PICTURE} text box subst? binding cond? time? code? channel? priority?",
        "id explicit",
    ),
    "arc": (f"{PICTURE} arrowattr transend placeend bendpoint* annot", "id orientation order"),
    **dict.fromkeys(("initmark", "cond", "time", "code", "priority", "annot"), LABEL),
    "posattr": ("", "x y"),
    "fillattr": ("", "colour pattern filled"),
    "lineattr": ("", "colour thick type"),
    "textattr": ("", "colour bold"),
    "arrowattr": ("", "headsize currentcyckle"),
    "ellipse": ("", "w h"),
    "box": ("", "w h"),
    "token": ("", "x y"),
    "marking": ("snap?", "x y hidden"),
    "binding": ("", "x y"),
    "transend": ("", "idref"),
    "placeend": ("", "idref"),
    "instances": ("instance+", ""),
    "instance": ("instance*", "id"),
    "options": ("option*", ""),
    "binders": ("cpnbinder*", ""),
    "cpnbinder": ("sheets zorder", "id x y width height"),
    "sheets": ("cpnsheet+", ""),
    "cpnsheet": ("zorder", "id panx pany zoom instance"),
    "zorder": ("position*", ""),
    "position": ("", "value"),
    "monitorblock": ("(monitor|monitorblock)*", "name"),
    "monitor": ("node* declaration* option*", "id name type typedescription disabled"),
    "node": ("", "idref pageinstanceidref"),
    "declaration": ("ml", "name"),
    "option": ("value?", "name"),
}
ORIENTATIONS = {"PtoT", "TtoP", "BOTHDIR", "Inhibitor", "Reset"}
TEXTS = {"id", "text", "ml", "layout"}


def cpn_faults(text: str) -> list[str]:
    """Returns a line for each place at which a `.cpn` file differs from the grammar."""
    root = ET.fromstring(text)
    faults = [] if "<!DOCTYPE workspaceElements PUBLIC" in text[:200] else ["has no document type"]
    if root.tag != "workspaceElements":
        return [*faults, f"{root.tag}: is no root element"]
    for parent, element in _with_parents(root):
        faults += _faults(parent, element)
    keys = [one.get("id", "") for one in root.iter() if one.get("id")]
    faults += [f"id {key}: is used twice" for key in {key for key in keys if keys.count(key) > 1}]
    tags = {one.get("id"): one.tag for one in root.iter() if one.get("id")}
    wanted = {"transend": ("trans",), "placeend": ("place",), "node": ("place", "trans")}
    for one in root.iter():
        if one.tag in wanted and tags.get(one.get("idref")) not in wanted[one.tag]:
            faults.append(f"{one.tag}: refers to {one.get('idref')}")
        if one.tag == "arc" and one.get("orientation") not in ORIENTATIONS:
            faults.append(f"arc: orientation {one.get('orientation')}")
        if one.tag == "node" and tags.get(one.get("pageinstanceidref")) != "instance":
            faults.append("node: refers to no page instance")
    return faults


def _with_parents(root: ET.Element) -> Iterator[tuple[str, ET.Element]]:
    yield "", root
    for parent in root.iter():
        for child in parent:
            yield parent.tag, child


def _faults(parent: str, element: ET.Element) -> Iterator[str]:
    tag = element.tag
    if tag == "type":
        # A type is a colour set of a variable, or the label of a place with its colour set.
        pattern, attributes = LABEL if parent == "place" else ("id", "")
    elif tag == "declaration" or tag in CPN:
        pattern, attributes = CPN[tag]
    else:
        yield f"{tag}: is no element that the grammar has in {parent}"
        return
    children = "".join(f"<{one.tag}>" for one in element)
    if not re.fullmatch(_regular(pattern), children):
        yield f"{tag} {element.get('id', '')}: has the children {children}, not {pattern}"
    for name in attributes.split():
        if element.get(name) is None:
            yield f"{tag} {element.get('id', '')}: lacks the attribute {name}"
    if tag not in TEXTS and (element.text or "").strip():
        yield f"{tag}: has a text"


def _regular(pattern: str) -> str:
    """Returns a pattern of children as a regular expression over their tags in angle brackets."""
    parts = re.sub(r"\w+", lambda found: f"(?:<{found[0]}>)", pattern)
    return parts.replace(" ", "").replace("((", "(?:(")


PNML = "{http://www.pnml.org/version-2009/grammar/pnml}"


def pnml_faults(text: str) -> list[str]:
    """Returns a line for each place at which a PNML file differs from the grammar of
    place/transition nets."""
    root = ET.fromstring(text)
    faults = [] if root.tag == f"{PNML}pnml" else [f"{root.tag}: is no root element"]
    nets = list(root)
    if [one.tag for one in nets] != [f"{PNML}net"]:
        return [*faults, "pnml: has other children than one net"]
    (net,) = nets
    faults += [f"net: lacks {key}" for key in ("id", "type") if not net.get(key)]
    if net.get("type") != "http://www.pnml.org/version-2009/grammar/ptnet":
        faults.append(f"net: type {net.get('type')}")
    allowed = {
        "net": {"name", "toolspecific", "page"},
        "page": {"name", "toolspecific", "graphics", "place", "transition", "arc", "page"},
        "place": {"name", "toolspecific", "graphics", "initialMarking"},
        "transition": {"name", "toolspecific", "graphics"},
        # Inhibitor and reset arcs have the element `type`, which the grammar lacks. Tools that have
        # such arcs write this element.
        "arc": {"name", "toolspecific", "graphics", "inscription", "type"},
    }
    keys: dict[str, str] = {}
    for one in net.iter():
        tag = one.tag.removeprefix(PNML)
        if tag in allowed:
            inner = {child.tag.removeprefix(PNML) for child in one}
            faults += [f"{tag}: has {other}" for other in sorted(inner - allowed[tag])]
            key = one.get("id", "")
            if not re.fullmatch(r"[A-Za-z_][\w.-]*", key) or key in keys:
                faults.append(f"{tag}: id {key!r} is no name, or is used twice")
            keys[key] = tag
        if tag in ("initialMarking", "inscription"):
            number = one.findtext(f"{PNML}text", "")
            least = tag == "inscription"
            if not number.isdigit() or int(number) < least:
                faults.append(f"{tag}: {number!r} is no number")
        if tag == "toolspecific" and not (one.get("tool") and one.get("version")):
            faults.append("toolspecific: lacks tool or version")
    for one in net.iter(f"{PNML}arc"):
        ends = {keys.get(one.get("source", "")), keys.get(one.get("target", ""))}
        if ends != {"place", "transition"}:
            faults.append(f"arc {one.get('id')}: joins {ends}")
    return faults
