"""One self-contained HTML page: figures, captions, parameters, verification, what was run."""
