"""From an error of a prediction to what it comes from: one wallet, one target at a time, on the ground of
`pipelines.evaluation.drilldown`.
"""
