"""Tests of progress messages in a log file. In the first fifteen seconds of a command, no message
is written. After that, at most one line is written every fifteen seconds."""

from dfslab.cli.live.lines import LineReporter


def test_a_log_gets_a_line_now_and_then(capsys):
    now_s = [100.0]
    report = LineReporter(lambda: now_s[0])
    for second in range(0, 60):
        now_s[0] = 100.0 + second
        report(second, 60, f"step {second}")
        report(0, 1, "a testbed comes up")
    reported = capsys.readouterr()
    assert reported.out == "", "standard output is for results"
    assert reported.err.splitlines() == [
        "  0:15  25 % step 15",
        "  0:30  50 % step 30",
        "  0:45  75 % step 45",
    ]
