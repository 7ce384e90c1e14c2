"""The report: one self-contained HTML page, and a Markdown page per open question."""
