"""Operation trees of the invented file system: a local directory with a ticket server in front of
it."""

from __future__ import annotations

from dfslab.spec.steps.operation import call, cpu, seq

from strange_lab.shelf.facts import PARAMETERS as P

_ticket = call("keeper", "ticket", cpu("keeper", P.ticket_cpu))
_move = seq(cpu("client", P.file_size * P.byte_cpu), name="move")

OPERATIONS = {
    "read": seq(seq(_ticket, name="open"), _move),
    "write": seq(seq(_ticket, name="create"), _move),
    "list": seq(_ticket),
}
