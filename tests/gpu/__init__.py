"""What can only be tried where there is a GPU. Nothing here is collected by pytest."""
