"""Amazon Reviews 2023 (McAuley Lab): a review counts as a purchase.

The domain is the row's `category`, else the metadata's `main_category`, else the
name of a file as published. A finer category is known only from a `categories` list, in
the row or in `meta_*.jsonl`; without one the log has no second level.
"""

from pipelines.commerce.mapping import Columns, Lookup, Mapping, Time

DOMAINS = (
    "All_Beauty", "Amazon_Fashion", "Appliances", "Arts_Crafts_and_Sewing", "Automotive", "Baby_Products",
    "Beauty_and_Personal_Care", "Books", "CDs_and_Vinyl", "Cell_Phones_and_Accessories",
    "Clothing_Shoes_and_Jewelry", "Digital_Music", "Electronics", "Gift_Cards", "Grocery_and_Gourmet_Food",
    "Handmade_Products", "Health_and_Household", "Health_and_Personal_Care", "Home_and_Kitchen",
    "Industrial_and_Scientific", "Kindle_Store", "Magazine_Subscriptions", "Movies_and_TV", "Musical_Instruments",
    "Office_Products", "Patio_Lawn_and_Garden", "Pet_Supplies", "Software", "Sports_and_Outdoors",
    "Subscription_Boxes", "Tools_and_Home_Improvement", "Toys_and_Games", "Video_Games",
)  # fmt: skip
"""Files of the published data set, one a domain."""

MAPPING = Mapping(
    name="amazon_reviews",
    description="Amazon Reviews 2023: reviews as JSON lines, with meta_*.jsonl if at hand",
    format=("jsonl",),
    columns=Columns(
        user=("user_id",),
        item=("parent_asin", "asin"),
        l1=("category", "main_category"),
        l2=("categories[1]",),
        brand=("product.brand", "store"),
    ),
    time=Time(column=("timestamp",), unit="ms"),
    action="purchase",
    duplicates="drop",
    lookups=(
        Lookup(
            name="metadata",
            key="parent_asin",
            columns=("main_category", "store", "categories[1]"),
            header=("parent_asin", "main_category"),
        ),
    ),
    l1_from_file=DOMAINS,
)
