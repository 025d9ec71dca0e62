"""One file a backend; each has a typed configuration with a `kind`, and a class that fulfils `containers.sandbox.Sandbox`."""
