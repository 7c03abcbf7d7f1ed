"""Rules about facts: pure steps, no I/O."""
