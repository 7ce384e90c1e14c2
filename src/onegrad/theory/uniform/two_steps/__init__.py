"""Two gradient steps, each on a fresh batch, then ridge: docs/two_steps.md."""
