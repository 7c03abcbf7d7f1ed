"""Raw messages and checkpoints."""
