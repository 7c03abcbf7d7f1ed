"""Rules about messages: pure steps, no I/O."""
