"""From a score to what it comes from: one user, one unit at a time.

A track says in a typed structure what is known of a user (`trail` for logs of visits,
`pipelines.onchain.drilldown` for wallets) and words it in `parts`; pages and the
terminal show parts and know no track.
"""
