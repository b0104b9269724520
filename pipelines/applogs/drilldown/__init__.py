"""From a score on app logs to what it comes from: one user, one question at a time, on the ground of
`pipelines.evaluation.drilldown`.
"""
