"""A small shop log in the REES46 format: every value is a keyed function of user and visit."""

import hashlib
from datetime import UTC, datetime, timedelta

HEADER = "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session"
DOMAINS = ("appliances", "apparel", "auto", "computers", "electronics", "furniture", "kids", "sport")
KINDS = ("one", "two", "three", "four", "five", "six")
VISITS_IN_SESSION = 15
HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}</script>"
"""A brand that would run, were it not shown as text."""


def rows(users, first_day, sessions, days_between=6, key="first"):
    """One line an event: sessions of 15 one-minute visits; a fifth of them carted, a tenth bought."""
    lines = []
    for user in users:
        for session in range(sessions):
            start = datetime.fromisoformat(first_day).replace(tzinfo=UTC) + timedelta(days=days_between * session)
            for visit in range(VISITS_IN_SESSION):
                drawn = int.from_bytes(hashlib.blake2b(f"{key}|{user}|{session}|{visit}".encode()).digest()[:6], "big")
                lines += _visit(user, session, start + timedelta(minutes=2 * visit, seconds=drawn % 30), drawn)
    return [HEADER, *lines]


def _visit(user, session, time, drawn):
    # A user has three domains of its own and strays into others now and then, later ever further.
    domain = (int(user) + (drawn // 7) % (3 if drawn % 4 else 4 + session // 3)) % len(DOMAINS)
    kind = (drawn // 11 + int(user)) % min(2 + session // 2, len(KINDS))
    item = 1000 * domain + 100 * kind + drawn // 13 % 20
    actions = ["view"] + ["cart"] * (drawn % 5 == 0) + ["purchase"] * (drawn % 10 == 0)
    for step, action in enumerate(actions):
        moment = (time + timedelta(seconds=10 * step)).strftime("%Y-%m-%d %H:%M:%S UTC")
        code = f"{DOMAINS[domain]}.{KINDS[kind]}"
        brand = f"brand{item % 7}" if item % 7 < 3 else HOSTILE
        yield f"{moment},{action},{item},{domain},{code},{brand},{item % 90 + 1}.50,{user},s{user}-{session}"
