"""The domain: tasks, subjects, candidates, verdicts. Values only, no I/O; imported by every other package."""
