"""The assert checker: plain asserts over a program's parameters and its return value, on recorded inputs and outputs."""
