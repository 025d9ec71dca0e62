"""What runs inside the sandbox, in the task's own interpreter. Standard library only, beside icontract and pytest.

Three generations of processes: the *supervisor* (init of the sandbox; runs no foreign code, alone talks to the outside,
decides on limits and endings), the *warm* processes (import and collect once, fork for every execution), and the
*execution* (one subject, its candidates, the covering tests; reports to the supervisor and to nobody else).
"""
