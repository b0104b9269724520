"""App logs: the state of a user who changes over months, behind a wall (DynamicMem, arXiv:2606.22877)."""
