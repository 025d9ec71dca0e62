"""What the user sees: plain lines in a log, bars on a terminal."""

import io

from jobs.progress import Display


def test_a_log_gets_plain_lines_now_and_then() -> None:
    out = io.StringIO()
    with Display(out, every=0.0) as display:
        display.expect("verdicts", 4)
        display.done("verdicts", 1)
        display.done("verdicts", 3)
        display.say("[1] as it stands")
    lines = out.getvalue().splitlines()
    assert "verdicts 1/4" in lines[0]
    assert "s left" in lines[0]
    assert "verdicts 4/4" in lines[1]
    assert lines[2] == "[1] as it stands"


def test_between_the_minutes_nothing_is_said() -> None:
    out = io.StringIO()
    with Display(out) as display:
        display.expect("tasks", 100)
        for _ in range(100):
            display.done("tasks")
    assert out.getvalue() == ""
