"""The DAG: thin assets that read, call the domain, audit and publish."""

import warnings

# Checks by partition are in preview in this pinned version of Dagster; saying so once a check helps nobody.
warnings.filterwarnings("ignore", message="Specifying a partitions_def on an AssetCheckSpec")
