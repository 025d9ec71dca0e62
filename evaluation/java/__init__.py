"""Java: JML postconditions, checked at run time."""
