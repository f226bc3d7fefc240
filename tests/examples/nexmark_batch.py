"""The queries of examples/nexmark as batch queries of DuckDB: the answer at the instant $t."""

SOLD = """
WITH sold AS (
    SELECT a.id, a.seller, a.category, a.expires, max(b.price) AS price
    FROM auctions a JOIN bids b ON b.auction = a.id AND b.ts < a.expires
    WHERE a.expires <= $t
    GROUP BY ALL
)
"""

SLOT = "make_timestamp(epoch_us($t) // {0}000000 * {0}000000)"
"""The last multiple of so many seconds."""

BATCH = {
    "in_euros": "SELECT auction, bidder, price * 0.89 FROM bids WHERE ts <= $t",
    "selected": "SELECT auction, price FROM bids WHERE ts <= $t AND auction % 9 = 0",
    "local_items": """
        SELECT p.name, p.city, p.state, a.id
        FROM auctions a JOIN persons p ON a.seller = p.id
        WHERE a.ts <= $t AND p.ts <= $t AND a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
    """,
    "sold": f"{SOLD} SELECT id, seller, category, price FROM sold",
    "category_prices": f"{SOLD} SELECT category, avg(price), count(*) FROM sold GROUP BY category",
    "hot_items": f"""
        WITH slot AS (SELECT {SLOT.format(2)} AS p),
        counts AS (
            SELECT auction, count(*) AS bids FROM bids, slot
            WHERE ts BETWEEN p - INTERVAL 10 SECONDS AND p GROUP BY auction
        )
        SELECT auction, bids FROM counts WHERE bids = (SELECT max(bids) FROM counts)
    """,
    "seller_prices": f"""
        {SOLD}
        , ranked AS (
            SELECT *, row_number() OVER (PARTITION BY seller ORDER BY expires DESC) AS n FROM sold
        )
        SELECT seller, avg(price), count(*) FROM ranked WHERE n <= 10 GROUP BY seller
    """,
    "highest_bids": f"""
        WITH slot AS (SELECT {SLOT.format(10)} AS p),
        last AS (SELECT bids.* FROM bids, slot WHERE ts > p - INTERVAL 10 SECONDS AND ts <= p)
        SELECT auction, bidder, price FROM last WHERE price = (SELECT max(price) FROM last)
    """,
    "winners": f"""
        {SOLD}
        SELECT s.id, b.bidder, p.name, s.price
        FROM sold s
        JOIN bids b ON b.auction = s.id AND b.price = s.price AND b.ts < s.expires
        LEFT JOIN persons p ON p.id = b.bidder
            AND p.ts BETWEEN s.expires - INTERVAL 30 SECONDS AND s.expires
    """,
    "new_users": """
        SELECT DISTINCT p.id, p.name
        FROM persons p JOIN auctions a ON p.id = a.seller
        WHERE p.ts BETWEEN $t - INTERVAL 12 SECONDS AND $t
            AND a.ts BETWEEN $t - INTERVAL 12 SECONDS AND $t
    """,
}

ARRIVALS = {
    "fresh_bids": """
        SELECT a.category, count(*), max(b.price)
        FROM events b JOIN events a ON b.event = 'bid' AND a.event = 'auction' AND b.auction = a.id
        WHERE b.arrived BETWEEN $t - INTERVAL 2 SECONDS AND $t
            AND a.arrived BETWEEN $t - INTERVAL 2 SECONDS AND $t
        GROUP BY a.category
    """,
}
