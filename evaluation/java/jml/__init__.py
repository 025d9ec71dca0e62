"""JML, parsed for real: tokens, expressions, clauses."""
