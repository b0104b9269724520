"""UCI Online Retail: invoice lines of a shop in London, local time, no categories.

An invoice that starts with C and a quantity of zero or less are cancellations. The
file also circulates with semicolons, decimal commas and day-first dates: `DAY_FIRST`,
which cannot be told from the content and so must be chosen.
"""

from pipelines.commerce.mapping import Columns, Mapping, Time

MAPPING = Mapping(
    name="uci_online_retail",
    description="UCI Online Retail (I and II) as CSV, month first",
    format=("csv",),
    columns=Columns(
        user=("CustomerID", "Customer ID"),
        item=("StockCode",),
        price=("UnitPrice", "Price"),
        quantity=("Quantity",),
        session=("InvoiceNo", "Invoice"),
    ),
    time=Time(column=("InvoiceDate",), patterns=("%m/%d/%Y %H:%M", "%Y-%m-%d %H:%M:%S"), zone="Europe/London"),
    action="purchase",
    missing=("NA",),
    nonpositive_quantity="cancel",
    cancel_prefix="C",
    duplicates="keep",
    resolution="minute",
)

DAY_FIRST = Mapping.model_validate(
    {
        **MAPPING.model_dump(),
        "description": "UCI Online Retail, semicolons, decimal commas, day first",
        "delimiter": ";",
        "decimal": ",",
        "time": {"column": "InvoiceDate", "patterns": ["%d/%m/%y %H:%M"], "zone": "Europe/London"},
    }
)
