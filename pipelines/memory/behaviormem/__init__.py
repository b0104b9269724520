"""BehaviorMem (arXiv:2610.34790): a ledger of what was done beside claims about who did it, step by step."""
