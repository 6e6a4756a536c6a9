"""Tests of the token game in a terminal, in which the user chooses the transition that fires next.
The tests check the displayed text, the transition that a choice fires, and the handling of invalid
choices."""

from __future__ import annotations

from pathlib import Path

from dfslab.cli.root import app
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.play import play
from typer.testing import CliRunner

PROTOCOL = Path(__file__).parents[2] / "scenarios" / "nets" / "protocol.cpn"


def played(net: Net, *answers: str) -> tuple[int, list[str]]:
    """Plays the token game. The user's input consists of `answers`, and ends after the last answer.
    Returns (number of steps, printed lines)."""
    said, left = [], list(answers)

    def ask(_prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    steps = play(net.document(), ask, said.append)
    assert not left, "every answer was asked for"
    return steps, said


def sorting() -> Net:
    """Returns a net with three jobs. The transition `hurry` may take any of them. The transition
    `wait` may take only jobs 2 and 3, and takes a second."""
    net = Net("sorting")
    job = net.colour("job", id=int)
    new = net.place("new", job, [1, 2, 3])
    slow, quick = net.place("slow", job), net.place("quick", job)
    net.transition("hurry", [Take(new, "j")], [Put(quick, "j")])
    net.transition("wait", [Take(new, "j")], [Put(slow, "j", 1)], guard="j.id > 1")
    return net


def test_a_choice_fires_the_binding_with_its_number():
    steps, said = played(sorting(), "2")
    assert steps == 1
    shown = [line for line in said if line.startswith("  ") and ")" in line and "with" in line]
    choices = [line.split(") ", 1)[1] for line in shown]
    assert choices[:5] == [
        "hurry with j = (1)",
        "hurry with j = (2)",
        "hurry with j = (3)",
        "wait with j = (2)",
        "wait with j = (3)",
    ]
    assert "fired hurry with j = (2)" in said
    # The token of job 2 is no longer there, because `hurry` has taken it. Therefore no choice of
    # `hurry` or `wait` has job 2.
    assert choices[5:] == ["hurry with j = (1)", "hurry with j = (3)", "wait with j = (3)"]


def test_what_is_no_choice_is_said_and_fires_nothing():
    steps, said = played(sorting(), "9", "x", "-1", "")
    assert [line for line in said if "no choice" in line] == [
        f"'{word}' is no choice: 1 to 5, +N or q" for word in ("9", "x", "-1")
    ]
    assert steps == 1, "Enter fires the first"


def test_it_ends_where_nothing_is_enabled_or_the_player_stops():
    steps, said = played(sorting(), "+10")
    assert (steps, said[-1]) == (3, "dead: nothing is enabled and nothing is on its way")
    assert played(sorting(), "5", "q")[0] == 1
    _, said = played(sorting(), "5")
    assert any(line.startswith("  slow: (3) from 1 s on") for line in said)


def test_a_file_is_played_from_the_command_line():
    result = CliRunner().invoke(app, ["net", "play", str(PROTOCOL)], input="1\nq\n")
    assert result.exit_code == 0, result.output
    assert "fired transmit" in result.output
