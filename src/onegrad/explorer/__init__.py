"""The explorer: one page on the loopback interface that shows theory and simulation move."""
