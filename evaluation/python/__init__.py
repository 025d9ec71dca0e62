"""Python: the icontract checker and what it runs in the sandbox."""
