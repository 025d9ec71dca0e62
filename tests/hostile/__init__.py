"""Code that means harm, each piece with the verdict that it must get."""
