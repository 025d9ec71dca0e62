"""Where tasks come from: the sample, folders of our own schema, the published benchmark."""
