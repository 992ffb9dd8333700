"""The API of mod_python, served by mod_pypool."""
