"""Tables, figures and the report: pure functions over a run's rows."""
