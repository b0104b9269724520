"""The on-chain track: Polygon logs → trades, positions, belief and trade instances."""
