"""Compiles pipelines into nets. The units of a pipelined transfer are tokens, and each stage serves
one unit of a job at a time, in order.

To save firings, the units are grouped into at most `most_units` batches of b units each. Batches do
not change the work of a station or the total time of this work. However, filling the pipeline takes
(b - 1) (L - c) seconds longer. L is the time of one unit in all stages without propagation, and c
the time of one unit in the slowest stage. Relative to the total time, this error is about (number
of stages) / `most_units`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dfslab.models.compiled.net_amount import MOST_UNITS
from dfslab.models.compiled.net_context import Context, TreeCompiler
from dfslab.models.compiled.token_flow import (
    Amount,
    Arc,
    Changes,
    EntryArcs,
    after,
    main,
    numbered,
    other,
    reread,
    summed,
    times,
)
from dfslab.nets.inscription import equal, number
from dfslab.spec.steps.expression import Expr
from dfslab.spec.steps.node import Call, Node, Par, Pipeline, Repeat, Seq


def pipeline(trees: TreeCompiler, node: Pipeline, context: Context, then: EntryArcs) -> EntryArcs:
    """Returns the entry of a pipeline. `then` continues after the last stage of the last unit; a
    pipeline without units is skipped."""
    units, each = trees.amounts.turns(node.units, trees.most_units)
    if each == 0.0:
        return then
    inside = replace(
        context, scale=times(context.scale, each), calm=context.scale, overlapping=True
    )
    stages = _flattened(trees, node, inside)
    if units == 1:
        for stage, where in reversed(stages):
            then = trees.compiled(stage, where, then)
        return then
    counter, key = f"n{context.loops + 1}", f"k{context.forks + 1}"
    turn = main(counter) + 1
    name = trees.unique(f"{context.page}/{node.name or 'pipeline'}")
    deliver = trees.branch(
        f"{name} unit done", context.page, [(turn < units, _nothing), (turn >= units, then)]
    )
    stages = [
        (stage, replace(where, loops=context.loops + 1, forks=context.forks + 1, key=key))
        for stage, where in stages
    ]
    # No thread token is needed for the first stage, because units are created by a loop that runs
    # this stage for one unit after another.
    first = [] if _sends(stages[0][0]) else [stages.pop(0)]
    for stage, where in reversed(stages):
        deliver = _stage(trees, stage, where, deliver)
    turned = trees.flow.place(f"{name} next unit")

    def brought(row: Changes, delay: Amount) -> list[Arc]:
        return [Arc(turned, row, delay), *deliver(row, delay)]

    body = trees.compiled(*first[0], brought) if first else brought

    def unit(*at: Expr) -> Changes:
        return {counter: summed(*at), key: numbered(context.key, MOST_UNITS, *at)}

    again = body(unit(main(counter), number(1)), 0.0)
    trees.flow.transition(f"{turned} (1)", context.page, [turned], again, turn < units)
    trees.flow.transition(f"{turned} (2)", context.page, [turned], [], turn >= units)
    return lambda row, delay: body(after(row, unit(number(0))), delay)


def _nothing(row: Changes, delay: Amount) -> list[Arc]:
    return []


def _flattened(trees: TreeCompiler, node: Pipeline, context: Context) -> list[tuple[Node, Context]]:
    """Returns every stage of a pipeline with the context in which the stage runs.

    Nested sequences are flattened. A node that repeats n times becomes n stages, or one stage if n
    depends on the token.
    """
    stages = []
    for stage in node.stages:
        count, body = 1, stage
        if isinstance(stage, Repeat) and trees.amounts.is_fixed(stage.count):
            count, body = trees.amounts.whole(stage.count), stage.body
        for _ in range(count):
            stages.append((body, context))
            context = _landed(trees, body, context)
    return stages


def _landed(trees: TreeCompiler, node: Node, context: Context) -> Context:
    """Returns the context (role and instance) in which a unit of a pipeline is after a stage. See
    `lands_at` in spec/steps/node.py.
    """
    if isinstance(node, Seq):
        for step in node.steps:
            context = _landed(trees, step, context)
        return context
    if isinstance(node, Call) and node.one_way:
        return context.at(node.role, trees.receiver(node.role, context))
    return context


def _bare(node: Node) -> Node:
    """Returns the only step of an unnamed sequence with one step, and other nodes unchanged."""
    while isinstance(node, Seq) and len(node.steps) == 1 and not node.name:
        node = node.steps[0]
    return node


def _sends(node: Node) -> bool:
    """Returns whether `node` only sends: it is a one-way message, or a `Par` of steps that only
    send."""
    node = _bare(node)
    if isinstance(node, Par):
        return all(_sends(step) for step in node.steps)
    return isinstance(node, Call) and node.one_way


def _stage(trees: TreeCompiler, node: Node, context: Context, deliver: EntryArcs) -> EntryArcs:
    """Returns the entry of the pipeline stage `node`, which serves one unit at a time. Each unit
    then continues with `deliver`.

    - A one-way message becomes up to three stages.
    - Parallel one-way messages become a fork with one branch for each message.
    - Any other node becomes one stage.
    """
    node = _bare(node)
    if isinstance(node, Call) and node.one_way:
        return _message(trees, node, context, deliver)
    if isinstance(node, Par) and _sends(node):
        return trees.fork(
            node, context, deliver, lambda step, inside, joined: _stage(trees, step, inside, joined)
        )

    def work(release: EntryArcs) -> EntryArcs:
        return trees.compiled(
            node, context, lambda row, delay: [*release(row, delay), *deliver(row, delay)]
        )

    return _thread(trees, node.name or "stage", context, work)


def _message(trees: TreeCompiler, node: Call, context: Context, deliver: EntryArcs) -> EntryArcs:
    """Returns the entry of a message as three stages: sender, wire and receiver. Each stage may
    handle a different unit at the same time. If sender and receiver are on one host, the only stage
    is the receiver's work.

    The receiver's adapter needs no thread token, because its FIFO queue keeps the order of units.
    """
    to = (node.role, trees.receiver(node.role, context))
    inside = replace(context, stack=(*context.stack, to))
    body = _bare(node.body)
    if not (isinstance(body, Seq) and not body.steps):
        deliver = _stage(trees, body, inside, deliver)
    size = trees.amounts.of(node.request_bytes)

    def work(release: EntryArcs | None) -> EntryArcs:
        return trees.transfer(context, inside, size, context.calm, node.name, deliver, release)

    if trees.placement.same_node(context.role, node.role) == 1.0:
        return work(None)
    return _thread(trees, f"{node.name} sender", context, work)


def _thread(
    trees: TreeCompiler, name: str, context: Context, work: Callable[[EntryArcs], EntryArcs]
) -> EntryArcs:
    """Returns an entry at which a unit waits for the thread of its stage. `work` receives the entry
    that releases the thread, and returns the entry of the stage's work.

    Each client has one thread for each copy of the pipeline. The client's operations and its
    deferred work share this thread. One thread is enough because a client runs one operation at a
    time.
    """
    stage = trees.unique(f"{context.page}/{name}")
    pipelines = trees.clients * context.pipelines
    idle = trees.flow.place(
        f"{stage} thread", [{"t": pipeline_index} for pipeline_index in range(pipelines)]
    )
    inbox = trees.flow.place(f"{stage} inbox")

    def release(row: Changes, delay: Amount) -> list[Arc]:
        return [Arc(idle, {"t": reread(context.pipeline_index, row)}, delay)]

    arcs = work(release)({}, 0.0)
    trees.flow.transition(
        f"{stage} begins", context.page, [inbox, idle], arcs, equal(main("t"), other("t"))
    )
    return lambda row, delay: [Arc(inbox, after(row, {"t": context.pipeline_index}), delay)]
