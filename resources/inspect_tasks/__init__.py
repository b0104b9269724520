"""Files that leave as `task.py` of an exported folder: they import inspect_ai and the standard library only."""
