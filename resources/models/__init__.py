"""Calls of language and embedding models: endpoints, cache, accounting, retries, budgets."""
