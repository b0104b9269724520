"""Small logs as their publishers write them, and how they are read."""

from pipelines.commerce.events import read_drop
from pipelines.commerce.sources import SOURCES

HEAD = "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session"


def rees(n, **change):
    row = {
        "time": f"2019-10-01 00:00:{n:02d} UTC",
        "type": "view",
        "item": str(100 + n),
        "category": "2053013555631882655",
        "code": "appliances.kitchen.mixer",
        "brand": "bosch",
        "price": "9.99",
        "user": "1515915625524816866",
        "session": "s",
    } | change
    return ",".join(row.values())


def text(path, lines, newline="\n", encoding="utf-8"):
    path.write_bytes((newline.join(lines) + newline).encode(encoding))
    return path


def read(path, name):
    return read_drop([path], SOURCES[name])


def row(drop, **where):
    return drop.events.filter(**where).row(0, named=True)
