"""Looking after a workspace: the graph of a tick, when it is due, and who starts it."""
