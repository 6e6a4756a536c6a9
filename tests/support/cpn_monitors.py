"""A `.cpn` file of a queue with one server and lists, with monitors in the form of CPN Tools. Jobs
arrive every 3 s at 0, 3, 6, … s and are served for 2 s each."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from tests.support.cpn_constructs import Step, color, file_of, var

# Numbers that CPN Tools writes for kinds of monitors.
MARKING, BREAKPOINT, USER, COLLECTION, WRITE, LIST, OCCURRENCES, CONTENT, ENABLED = map(
    str, range(9)
)
ARRIVALS, QUEUE, IDLE, BUSY, ARRIVE, START, END = "p0", "p1", "p2", "p3", "t0", "t1", "t2"
NONE = "fun init () = NONE"
AT_START = "Main'start (1, {n, q, u})"


def monitor(
    name: str,
    kind: str,
    nodes: tuple[str, ...],
    functions: dict[str, str] | None = None,
    options: dict[str, str] | None = None,
    disabled: str = "false",
) -> str:
    """Returns the XML text of a monitor of the given nodes. The nodes are on the file's only page
    instance."""
    observed = "".join(f"<node idref='{key}' pageinstanceidref='i'/>" for key in nodes)
    declared = "".join(
        f"<declaration name='{key}'><ml id='{name}{key}'>{escape(text)}"
        f"<layout>{escape(text)}</layout></ml></declaration>"
        for key, text in (functions or {}).items()
    )
    chosen = "".join(f"<option name='{key}' value='{on}'/>" for key, on in (options or {}).items())
    return (
        f"<monitor id='m{name}' name='{name}' type='{kind}' typedescription='kind {kind}' "
        f"disabled='{disabled}'>{observed}{declared}{chosen}</monitor>"
    )


def collector(
    name: str,
    nodes: tuple[str, ...],
    predicate: str,
    observer: str,
    init: str = NONE,
    stop: str = "fun stop () = NONE",
    timed: str = "false",
) -> str:
    """Returns the XML text of a monitor of the kind "data collector"."""
    functions = {"Predicate": predicate, "Observer": observer, "Init function": init, "Stop": stop}
    return monitor(name, COLLECTION, nodes, functions, {"Timed": timed, "Logging": "true"})


def at_start(function: str, of_start: str, otherwise: str) -> str:
    """Returns a function of a monitor in the form that CPN Tools generates. The value of the
    function is `of_start` for firings of the transition `start`, and `otherwise` for all other
    firings."""
    inner = f"{function}BindElem"
    return (
        f"fun {function} (bindelem) = \nlet\n  fun {inner} ({AT_START}) = {of_start}\n"
        f"      | {inner} _ = {otherwise}\nin\n  {inner} bindelem  \nend"
    )


def queue_file(*monitors: str) -> str:
    """Returns the text of the CPN file of the queue, with the given monitors."""
    text = file_of(
        [
            color("INT", "<int/>"),
            color("UNIT", "<unit/>"),
            color("INTS", "<list><id>INT</id></list>"),
            var("n", "INT"),
            var("u", "UNIT"),
            var("q", "INTS"),
        ],
        {
            "arrivals": ("INT", "1`0"),
            "queue": ("INTS", "1`[]"),
            "idle": ("UNIT", "1`()"),
            "busy": ("UNIT", ""),
        },
        [
            Step(
                "arrive", {"arrivals": "n", "queue": "q"}, {"arrivals": "n+3@+3", "queue": "q^^[n]"}
            ),
            Step("start", {"queue": "n::q", "idle": "u"}, {"queue": "q", "busy": "u@+2"}),
            Step("end", {"busy": "u"}, {"idle": "u"}),
        ],
    )
    block = f"<monitorblock name='Monitors'>{''.join(monitors)}</monitorblock>"
    instances = "<instances><instance id='i' page='p'/></instances>"
    return text.replace("</cpnet>", f"{instances}{block}</cpnet>")


@dataclass(frozen=True)
class MonitorRow:
    """A row of the table of monitors: a monitor and its expected result. The expected result is the
    number and the mean of its values in 100 s or, if the monitor is refused, a part of the error
    message."""

    construct: str
    example: str
    monitor: str
    count: float | None = None
    mean: float | None = None
    refused: str = ""


ALWAYS = at_start("pred", "true", "false")
SIZES = "(bindelem, Main'busy_1_mark : UNIT tms, Main'idle_1_mark : UNIT tms)"
ROWS = [
    MonitorRow(
        "marking size",
        "Marking size",
        monitor("marking size", MARKING, (BUSY,)),
        # 34 starts, 33 ends and the initial value are 68 values. The server is busy for 2 of every
        # 3 s.
        count=68,
        mean=(33 * 2 + 1) / 100,
    ),
    MonitorRow(
        "list length",
        "List length data collection",
        monitor("list length", LIST, (QUEUE,)),
        count=69,
        mean=0,
    ),
    MonitorRow(
        "count of transition occurrences",
        "Count transition occurrence data collection",
        monitor("count of transition occurrences", OCCURRENCES, (START,)),
        count=34,
        mean=1,
    ),
    MonitorRow(
        "data collector at a transition",
        "fun obs (bindelem) = … fun obsBindElem (Main'start (1, {n, q, u})) = n",
        collector(
            "data collector at a transition",
            (START,),
            at_start("pred", "n > 50", "false"),
            at_start("obs", "n", "~1"),
        ),
        # 17 jobs arrive after 50 s: at 51, 54, …, 99 s.
        count=17,
        mean=75,
    ),
    MonitorRow(
        "data collector of the clock",
        "intTime() - n",
        collector(
            "data collector of the clock", (START,), ALWAYS, at_start("obs", "intTime() - n", "~1")
        ),
        count=34,
        mean=0,
    ),
    MonitorRow(
        "function in clauses",
        "fun pred (Main'start (1, {n, q, u})) = n mod 2 = 0 | pred _ = false",
        collector(
            "function in clauses",
            (START, END),
            f"fun pred ({AT_START}) = n mod 2 = 0 | pred _ = false",
            "fun obs _ = 1.5",
        ),
        count=17,
        mean=1.5,
    ),
    MonitorRow(
        "timed data collector of markings",
        "fun obs (bindelem, Main'busy_1_mark : UNIT tms, …) = size Main'busy_1_mark + …",
        collector(
            "timed data collector of markings",
            (BUSY, IDLE, START, END),
            f"fun pred {SIZES} = true",
            f"fun obs {SIZES} = (size Main'busy_1_mark) + 3 * (size Main'idle_1_mark);",
            "fun init (Main'busy_1_mark : UNIT tms, Main'idle_1_mark : UNIT tms) = "
            "SOME (3 * size Main'idle_1_mark)",
            "fun stop (Main'busy_1_mark : UNIT tms, Main'idle_1_mark : UNIT tms) = NONE",
            "true",
        ),
        count=68,
        mean=3 - 2 * (33 * 2 + 1) / 100,
    ),
    MonitorRow(
        "data collector at a place, called at every firing",
        "fun obs (Main'busy_1_mark : UNIT tms) = size Main'busy_1_mark",
        collector(
            "data collector at a place, called at every firing",
            (BUSY,),
            "fun pred (Main'busy_1_mark : UNIT tms) = true",
            "fun obs (Main'busy_1_mark : UNIT tms) = size Main'busy_1_mark",
            timed="true",
        ),
        # 34 arrivals, 34 starts and 33 ends within 100 s.
        count=101,
        mean=(33 * 2 + 1) / 100,
    ),
    MonitorRow(
        "number of observations of another monitor",
        "Starts.count() mod 2 = 0",
        collector(
            "number of observations of another monitor",
            (START,),
            at_start("pred", "marking_and_more.count() mod 2 = 0", "false"),
            at_start("obs", "marking_and_more.count()", "0"),
        )
        + monitor("marking and more", OCCURRENCES, (START,)),
        count=17,
        mean=18,
    ),
    MonitorRow(
        "stop function with a value",
        "fun stop () = SOME …",
        collector(
            "stop function with a value",
            (START,),
            ALWAYS,
            "fun obs _ = 1",
            stop="fun stop () = SOME 1",
        ),
        refused="values at the end of a run are not computed; compute them from the counts",
    ),
    MonitorRow(
        "value of a token in a marking",
        "hd (ms_to_list Main'busy_1_mark)",
        collector(
            "value of a token in a marking",
            (ARRIVALS,),
            "fun pred (Main'arrivals_1_mark : INT tms) = true",
            "fun obs (Main'arrivals_1_mark : INT tms) = hd (ms_to_list Main'arrivals_1_mark)",
        ),
        refused="of a marking, monitors read the size only: size mark",
    ),
    MonitorRow(
        "random value in a monitor",
        "fun obs _ = discrete(1, 6)",
        collector("random value in a monitor", (START,), ALWAYS, "fun obs _ = discrete(1, 6)"),
        refused="draws at random, which a monitor may not; draw in a code segment",
    ),
    MonitorRow(
        "last value of another monitor",
        "Starts.last()",
        collector(
            "last value of another monitor",
            (START,),
            ALWAYS,
            at_start("obs", "marking_and_more.last()", "0"),
        )
        + monitor("marking and more", OCCURRENCES, (START,)),
        refused="is no function that is read, nor declared as one",
    ),
    MonitorRow(
        "write in file",
        "Write in file",
        monitor("write in file", WRITE, (START,)),
        refused="writes a file; a Data collection monitor is reported",
    ),
    MonitorRow(
        "user-defined monitor",
        "User defined",
        monitor("user-defined monitor", USER, (START,)),
        refused="use a Data collection monitor",
    ),
    MonitorRow(
        "place content break point",
        "Place content break point",
        monitor("place content break point", CONTENT, (QUEUE,)),
        refused="use a Breakpoint that compares the size of the marking",
    ),
    MonitorRow(
        "transition enabled break point",
        "Transition enabled break point",
        monitor("transition enabled break point", ENABLED, (START,)),
        refused="use a Breakpoint at the firing of a transition",
    ),
]


def table(rows: list[MonitorRow]) -> str:
    """Returns the monitors as a Markdown table."""
    lines = ["| monitor | example | |", "|---|---|---|"]
    for row in rows:
        outcome = f"refused: {row.refused}" if row.refused else "read"
        cells = (row.construct, f"`` {row.example} ``", outcome)
        lines.append("| " + " | ".join(one.replace("|", "\\|") for one in cells) + " |")
    return "\n".join(lines)
