"""Recomputes the daily sums of the figures from an export of the facts, with DuckDB.

Reads {"facts": "<CSV file>", "figures": "<CSV file>"} on standard input. Prints {"sums": number, "measures": number,
"values": number, "differences": […]}. Exit status 0 if there are no differences, else 1. With "answers" (the JSON of `souk
figures NAME --by day --json`), "tables" (of currency rates) and "commissions", it also compares the values of these answers
with values that it computes from the sums. It follows the definitions of Documentation/Figures.md and shares no code with
the server.
"""

import collections
import datetime
import fractions
import json
import sys

import duckdb

DAY = 86_400_000
MONTH = 2_629_800_000
KEY = "app, environment, measure, day, age, product, country, source, offer, currency"
DIMENSIONS = "app, environment, product, country, source, offer, currency"

request = json.load(sys.stdin)
db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")


def table(name, sql):
    db.execute(f"CREATE TABLE {name} AS {sql}")


def csv(path):
    return f"read_csv('{path}', header = true, all_varchar = true)"


def instant(column):
    return f"epoch_ms(CAST({column} AS TIMESTAMPTZ))"


def day(milliseconds):
    return f"(DATE '1970-01-01' + CAST(floor({milliseconds} / {DAY}.0) AS INTEGER))"


table("facts", f"SELECT * FROM {csv(request['facts'])}")

# Of the facts of a transaction, the one that was signed last counts. Among those signed at the same time, a revoked one
# takes precedence, and then the one with the largest digest.
table("transactions", f"""
    SELECT app, environment, source, originalTransactionId AS original, transactionId AS id, productId AS product, type,
        {instant('purchaseDate')} AS purchased, {instant('expiresDate')} AS expires,
        {instant('revocationDate')} AS revoked, {instant('signedDate')} AS signed,
        {instant('originalPurchaseDate')} AS began, coalesce({instant('paidUntilDate')}, {instant('expiresDate')}) AS paid_until,
        coalesce(isUpgraded, 'false') = 'true' AS upgraded, coalesce(isTrial, 'false') = 'true' AS trial,
        coalesce(storefront, '') AS country, coalesce(currency, '') AS currency,
        CASE offerType WHEN '1' THEN 'introductory' WHEN '2' THEN 'promotional' WHEN '3' THEN 'offerCode'
            WHEN '4' THEN 'winBack' ELSE '' END
            || CASE WHEN offerIdentifier IS NULL THEN '' ELSE '/' || offerIdentifier END AS offer,
        coalesce(CAST(CAST(price AS DECIMAL(18, 6)) * 1000000 AS HUGEINT), 0)
            * coalesce(CAST(quantity AS HUGEINT), 1) AS amount,
        CAST(revocationPercentage AS HUGEINT) AS share
    FROM facts WHERE kind = 'transaction'
    QUALIFY row_number() OVER (
        PARTITION BY app, environment, originalTransactionId, transactionId
        ORDER BY {instant('signedDate')} DESC, revocationDate IS NOT NULL DESC, digest DESC) = 1
        AND coalesce(isFamilyShared, 'false') <> 'true'
""")
# Two subscriptions at Google Play are linked if the last statement about each names the other. Linked ones are a chain,
# which counts as one subscription: `place_in_chain` 0 is the first. A purchase without links is a chain of one.
table("statements", f"""
    SELECT app, environment, originalTransactionId AS original, replaces, replacedBy
    FROM facts WHERE kind = 'transaction'
    QUALIFY row_number() OVER (PARTITION BY app, environment, originalTransactionId
        ORDER BY {instant('signedDate')} DESC, revocationDate IS NOT NULL DESC, digest DESC) = 1
""")
table("links", """
    SELECT f.app, f.environment, f.original AS former, t.original AS next
    FROM statements f JOIN statements t ON t.app = f.app AND t.environment = f.environment
        AND t.original = f.replacedBy AND t.replaces = f.original
""")
table("chains", """
    WITH RECURSIVE reached AS (
        SELECT app, environment, original AS chain, original, 0 AS place_in_chain FROM statements
        WHERE (app, environment, original) NOT IN (SELECT app, environment, next FROM links)
        UNION ALL
        SELECT r.app, r.environment, r.chain, l.next, r.place_in_chain + 1
        FROM reached r JOIN links l ON l.app = r.app AND l.environment = r.environment AND l.former = r.original
    )
    SELECT * FROM reached
""")
# A deferred replacement states the order of the replaced purchase again. It is one payment, refunded if any states it.
table("payments", """
    SELECT t.* REPLACE (min(t.revoked) OVER w AS revoked, max(t.share) OVER w AS share), c.chain
    FROM transactions t JOIN chains c USING (app, environment, original)
    WINDOW w AS (PARTITION BY t.app, t.environment, c.chain, t.id)
    QUALIFY row_number() OVER (PARTITION BY t.app, t.environment, c.chain, t.id ORDER BY c.place_in_chain) = 1
""")
table("paying", "SELECT * FROM payments WHERE amount > 0")
table("ordered", """
    SELECT *, row_number() OVER (PARTITION BY app, environment, original ORDER BY purchased, expires, encode(id)) AS place
    FROM transactions WHERE type = 'autoRenewableSubscription'
""")
table("renewals", f"""
    SELECT app, environment, originalTransactionId AS original, {instant('signedDate')} AS signed,
        {instant('gracePeriodExpiresDate')} AS grace
    FROM facts WHERE kind = 'renewal'
""")
# A renewal info belongs to the last period that had begun when it was signed. The last one with a grace period sets the end
# of the period's access. If one without a grace period was signed later, after the expiry, the access ends then.
table("assigned", """
    SELECT r.app, r.environment, r.original, r.signed, r.grace, max(o.place) AS place
    FROM renewals r JOIN ordered o ON (o.app, o.environment, o.original) = (r.app, r.environment, r.original)
        AND o.purchased <= r.signed AND (r.grace IS NULL OR o.expires <= r.grace)
    GROUP BY ALL
""")
table("graces", """
    WITH last AS (
        SELECT * FROM assigned WHERE grace IS NOT NULL
        QUALIFY row_number() OVER (
            PARTITION BY app, environment, original, place ORDER BY signed DESC, grace DESC) = 1
    )
    SELECT l.app, l.environment, l.original, l.place, least(any_value(l.grace), min(e.signed)) AS access
    FROM last l JOIN ordered o USING (app, environment, original, place)
    LEFT JOIN assigned e ON (e.app, e.environment, e.original, e.place) = (l.app, l.environment, l.original, l.place)
        AND e.grace IS NULL AND e.signed > l.signed AND e.signed > o.expires
    GROUP BY ALL
""")
whole = f"(paid_until - before_paid) % {7 * DAY} = 0" \
    f" OR (paid_until - before_paid + {MONTH // 2}) // {MONTH} >= 1" \
    f" AND abs(paid_until - before_paid - (paid_until - before_paid + {MONTH // 2}) // {MONTH} * {MONTH}) <= {3 * DAY}"
# Whether a period has exactly the length of a plan, apart from an hour of summer time. A week counts only for another product.
whole_plan = " OR ".join(
    f"abs(paid_until - epoch_ms(epoch_ms(purchased) + to_months({months}))) IN (0, 3600000)" for months in (1, 2, 3, 6, 12)
) + f" OR product <> before_product AND abs(paid_until - purchased - {7 * DAY}) IN (0, 3600000)"
# If a period was paid in the grace period of the previous one, its length counts from the previous expiry, provided that
# it then has whole weeks or about whole months. Another plan that is bought in the grace period begins with its payment.
table("extended", f"""
    WITH reached AS (
        SELECT o.*, greatest(o.expires, coalesce(g.access, o.expires)) AS access,
        FROM ordered o LEFT JOIN graces g USING (app, environment, original, place)
    ), preceded AS (
        SELECT *, lag(paid_until) OVER w AS before_paid, lag(access) OVER w AS before_access,
            lag(product) OVER w AS before_product
        FROM reached WINDOW w AS (PARTITION BY app, environment, original ORDER BY place)
    )
    SELECT *, CASE WHEN purchased > before_paid AND purchased <= before_access
            AND paid_until > before_paid AND ({whole}) AND NOT ({whole_plan}) THEN before_paid ELSE purchased END AS base,
        least(access, coalesce(revoked, 9000000000000000),
            CASE WHEN upgraded THEN signed ELSE 9000000000000000 END) AS finish
    FROM preceded
""")
# Of several periods with the same start, the last one remains. A period ends at the latest when the next one starts.
table("own_periods", f"""
    WITH kept AS (
        SELECT * FROM extended WHERE finish > purchased
        QUALIFY row_number() OVER (PARTITION BY app, environment, original, purchased ORDER BY place DESC) = 1
    ), clipped AS (
        SELECT *, least(finish, coalesce(lead(purchased) OVER w, finish)) AS ends,
            paid_until - base AS length, (paid_until - base + {MONTH // 2}) // {MONTH} AS months
        FROM kept WINDOW w AS (PARTITION BY app, environment, original ORDER BY place)
    )
    SELECT *, CASE WHEN trial OR amount = 0 OR length <= 0 THEN 0
            WHEN months >= 1 AND abs(length - months * {MONTH}) <= {3 * DAY}
                THEN (2 * amount + months) // (2 * months)
            ELSE (2 * amount * {MONTH} + length) // (2 * CAST(length AS HUGEINT)) END AS monthly
    FROM clipped
""")
# In a chain, an order that a later purchase states again is one period, which ends where the later purchase says. A period
# that lasted until the replacement continues until the first period of the new purchase. Then the chain has an order, and
# again no overlap.
table("chained", """
    WITH once AS (
        SELECT p.* REPLACE (last_value(p.ends) OVER w AS ends), c.chain, c.place_in_chain
        FROM own_periods p JOIN chains c USING (app, environment, original)
        WINDOW w AS (PARTITION BY p.app, p.environment, c.chain, p.id ORDER BY c.place_in_chain
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        QUALIFY row_number() OVER (PARTITION BY p.app, p.environment, c.chain, p.id ORDER BY c.place_in_chain) = 1
    ), followed AS (
        SELECT *, lead(original) OVER w AS next_original, lead(purchased) OVER w AS next_purchased,
            lead(began) OVER w AS next_began
        FROM once WINDOW w AS (PARTITION BY app, environment, chain ORDER BY place_in_chain, place)
    ), gapless AS (
        SELECT * REPLACE (CASE WHEN next_original <> original AND ends >= next_began AND ends < next_purchased
            THEN next_purchased ELSE ends END AS ends)
        FROM followed
    ), kept AS (
        SELECT * FROM gapless WHERE ends > purchased
        QUALIFY row_number() OVER (
            PARTITION BY app, environment, chain, purchased ORDER BY place_in_chain DESC, place DESC) = 1
    )
    SELECT * REPLACE (least(ends, coalesce(lead(purchased) OVER w, ends)) AS ends), row_number() OVER w AS number,
        coalesce(lag(place_in_chain) OVER w < place_in_chain, false) AS is_replacement,
        CASE WHEN lead(product) OVER own = product THEN lead(monthly) OVER own ELSE 0 END AS next_monthly
    FROM kept WINDOW w AS (PARTITION BY app, environment, chain ORDER BY purchased, place_in_chain, place),
        own AS (PARTITION BY app, environment, chain, original ORDER BY purchased, place)
""")
# The first period after a replacement costs what was paid, and the value of the unused time of the period before. A result
# within a tenth of the monthly price before or after it is that price. A free period remains free if nothing was paid.
table("periods", f"""
    WITH RECURSIVE priced AS (
        SELECT * FROM chained WHERE number = 1
        UNION ALL
        SELECT * EXCLUDE (before_monthly, before_trial, before_currency, rest, follows_free, money, has_credit, exact, nearest)
            REPLACE (
            CASE WHEN follows_free THEN 0 WHEN NOT has_credit THEN monthly
                WHEN abs(nearest - exact) * 10 <= nearest THEN nearest ELSE exact END AS monthly,
            trial OR follows_free AS trial, CASE WHEN has_credit THEN money ELSE currency END AS currency)
        FROM (
            SELECT *, CASE WHEN abs(next_monthly - exact) < abs(before_monthly - exact) THEN next_monthly
                ELSE before_monthly END AS nearest
            FROM (
                SELECT *, CASE WHEN has_credit THEN (2 * (amount * {MONTH} + before_monthly * rest) + paid_until - purchased)
                    // (2 * CAST(paid_until - purchased AS HUGEINT)) ELSE 0 END AS exact
                FROM (
                    SELECT *, is_replacement AND rest > 0 AND NOT trial AND before_trial AND amount = 0 AS follows_free,
                        is_replacement AND rest > 0 AND NOT trial AND NOT (before_trial AND amount = 0)
                            AND before_monthly > 0 AND paid_until > purchased AND money = before_currency AS has_credit
                    FROM (
                        SELECT c.*, p.monthly AS before_monthly, p.trial AS before_trial, p.currency AS before_currency,
                            p.paid_until - c.purchased AS rest,
                            CASE WHEN c.currency = '' THEN p.currency ELSE c.currency END AS money
                        FROM priced p JOIN chained c ON c.app = p.app AND c.environment = p.environment
                            AND c.chain = p.chain AND c.number = p.number + 1
                    )
                )
            )
        )
    )
    SELECT *, {day('purchased')} AS starts_on, {day('ends')} AS ends_on FROM priced
""")
table("subscriptions", """
    WITH neighbours AS (
        SELECT *, lag(trial) OVER w AS before_trial, lag(ends_on) OVER w AS before_ends, lag(monthly) OVER w AS before_monthly,
            lag(currency) OVER w AS before_currency, lead(trial) OVER w AS after_trial,
            lead(starts_on) OVER w AS after_starts
        FROM periods WINDOW w AS (PARTITION BY app, environment, chain ORDER BY number)
    )
    SELECT *, coalesce(starts_on <= before_ends, false) AS follows,
        coalesce(after_starts <= ends_on, false) AS is_followed,
        NOT trial AND number = min(CASE WHEN NOT trial THEN number END) OVER (PARTITION BY app, environment, chain)
            AS is_first
    FROM neighbours
""")
table("trial_starts", """
    SELECT * FROM subscriptions WHERE trial AND NOT (follows AND coalesce(before_trial, false))
""")
table("conversions", """
    SELECT t.*, p.starts_on AS paid_on
    FROM subscriptions p ASOF JOIN trial_starts t
        ON (p.app, p.environment, p.chain) = (t.app, t.environment, t.chain) AND p.number > t.number
    WHERE NOT p.trial AND p.before_trial AND p.starts_on <= p.before_ends + 60
""".replace("(p.app, p.environment, p.chain) = (t.app, t.environment, t.chain)",
            "p.app = t.app AND p.environment = t.environment AND p.chain = t.chain"))
table("cohorts", "SELECT * FROM subscriptions WHERE is_first")
table("refunded", """
    SELECT *, CASE WHEN share BETWEEN 0 AND 100000 THEN (2 * amount * share + 100000) // 200000 ELSE amount END AS refund
    FROM paying WHERE revoked IS NOT NULL
""")
table("money", f"""
    SELECT *, amount AS paid, {day('purchased')} AS paid_on FROM paying
    UNION ALL BY NAME SELECT *, -refund AS paid, {day('revoked')} AS paid_on FROM refunded
""")


def part(measure, on, value, source, where="true", age="0", dimensions=DIMENSIONS):
    return f"SELECT {dimensions}, '{measure}' AS measure, {on} AS day, {age} AS age, {value} AS value FROM {source} WHERE {where}"


# A run is a sequence of paid periods without a gap.
begins_run = "NOT trial AND NOT (follows AND NOT before_trial)"
ends_run = "NOT trial AND NOT (is_followed AND NOT after_trial)"
continues_run = "NOT trial AND follows AND NOT before_trial"
keeps_currency = f"{continues_run} AND before_currency = currency"
changes_currency = f"{continues_run} AND before_currency <> currency"
of_cohort = ", ".join(f"c.{name}" for name in DIMENSIONS.split(", "))
parts = [
    part("active", "starts_on", "1", "subscriptions", "NOT trial"),
    part("active", "ends_on", "-1", "subscriptions", "NOT trial"),
    part("trials", "starts_on", "1", "subscriptions", "trial"),
    part("trials", "ends_on", "-1", "subscriptions", "trial"),
    part("mrr", "starts_on", "monthly", "subscriptions"),
    part("mrr", "ends_on", "-monthly", "subscriptions"),
    part("new", "starts_on", "1", "subscriptions", f"{begins_run} AND is_first"),
    part("mrrNew", "starts_on", "monthly", "subscriptions", f"{begins_run} AND is_first"),
    part("reactivated", "starts_on", "1", "subscriptions", f"{begins_run} AND NOT is_first"),
    part("mrrReactivation", "starts_on", "monthly", "subscriptions", f"{begins_run} AND NOT is_first"),
    part("lost", "ends_on", "1", "subscriptions", ends_run),
    part("mrrChurn", "ends_on", "-monthly", "subscriptions", ends_run),
    part("mrrExpansion", "starts_on", "monthly - before_monthly", "subscriptions",
         f"{keeps_currency} AND monthly > before_monthly"),
    part("mrrContraction", "starts_on", "monthly - before_monthly", "subscriptions",
         f"{keeps_currency} AND monthly < before_monthly"),
    part("mrrExpansion", "starts_on", "monthly", "subscriptions", changes_currency),
    part("mrrContraction", "ends_on", "-monthly",
         "(SELECT s.* REPLACE (n.starts_on AS ends_on) FROM subscriptions s JOIN subscriptions n"
         " ON s.app = n.app AND s.environment = n.environment AND s.chain = n.chain AND n.number = s.number + 1"
         " WHERE NOT s.trial AND NOT n.trial AND n.follows AND s.currency <> n.currency)"),
    part("trialsStarted", "starts_on", "1", "trial_starts"),
    part("conversions", "paid_on", "1", "conversions"),
    part("trialsConverted", "starts_on", "1", "conversions"),
    part("payments", day("purchased"), "1", "paying"),
    part("revenue", "paid_on", "paid", "money"),
    part("refunded", day("revoked"), "1", "refunded"),
    part("refunds", day("revoked"), "refund", "refunded"),
    part("retained", "starts_on", "1", "cohorts c, generate_series(1, 60) AS ages(age)", """EXISTS (
        SELECT 1 FROM subscriptions p
        WHERE p.app = c.app AND p.environment = c.environment AND p.chain = c.chain AND NOT p.trial
            AND p.starts_on <= CAST(c.starts_on + to_months(CAST(age AS INTEGER)) AS DATE)
            AND p.ends_on > CAST(c.starts_on + to_months(CAST(age AS INTEGER)) AS DATE))""",
         age="age", dimensions=of_cohort),
    part("cohortRevenue", "c.starts_on", "m.paid",
         "money m JOIN cohorts c ON m.app = c.app AND m.environment = c.environment AND m.chain = c.chain"
         " AND m.currency = c.currency", "m.type = 'autoRenewableSubscription'",
         age="""(SELECT coalesce(max(k), 0) FROM generate_series(1, 60) AS months(k)
            WHERE CAST(c.starts_on + to_months(CAST(k AS INTEGER)) AS DATE) <= m.paid_on)""", dimensions=of_cohort),
]
table("expected", f"""
    SELECT {KEY}, CAST(sum(value) AS HUGEINT) AS value FROM ({' UNION ALL BY NAME '.join(parts)})
    GROUP BY {KEY} HAVING sum(value) <> 0
""")
money = "'mrr', 'mrrNew', 'mrrExpansion', 'mrrContraction', 'mrrReactivation', 'mrrChurn', 'revenue', 'refunds', 'cohortRevenue'"
table("found", f"""
    SELECT app, environment, measure, CAST(day AS DATE) AS day, CAST(age AS BIGINT) AS age,
        coalesce(product, '') AS product, coalesce(country, '') AS country, coalesce(source, '') AS source,
        coalesce(offer, '') AS offer, coalesce(currency, '') AS currency,
        CAST(CAST(value AS DECIMAL(28, 6)) * CASE WHEN measure IN ({money}) THEN 1000000 ELSE 1 END AS HUGEINT) AS value
    FROM {csv(request['figures'])}
""")
rows = db.execute(f"""
    SELECT {KEY}, f.value, e.value FROM found f FULL JOIN expected e USING ({KEY})
    WHERE f.value IS DISTINCT FROM e.value ORDER BY ALL LIMIT 20
""").fetchall()
sums = db.execute("SELECT count(*) FROM found").fetchone()[0]
measures = db.execute("SELECT count(DISTINCT measure) FROM found").fetchone()[0]


# The measure of each figure whose answers are compared. All other answers are those of lifetime-value, with the measure
# cohortRevenue. The value of a level is the sum of all changes up to its day.
FLOWS = {"revenue": "revenue", "proceeds": "revenue", "refunds": "refunds", "mrr-churn": "mrrChurn"}
LEVELS = {"mrr": "mrr"}


def rounded(number):
    """Rounds to the nearest integer, and a half away from zero."""
    size = abs(number)
    whole = (size.numerator * 2 + size.denominator) // (size.denominator * 2)
    return whole if number >= 0 else -whole


def amounts(measure):
    """Returns the exact sums of a measure by day, currency and source."""
    return [(day, currency, source, fractions.Fraction(value)) for day, currency, source, value in db.execute(
        "SELECT day, currency, source, sum(value) FROM expected WHERE measure = ? GROUP BY ALL", [measure]).fetchall()]


def judge(answer):
    """Returns the number of values of an answer, and the differences."""
    name, rates = answer["name"], answer.get("currencyRates")
    table = next((t for t in request["tables"] if rates and t["currency"] == rates["currency"]), None)
    known = {currency: fractions.Fraction(rate) for currency, rate in table["rates"].items()} if table else {}
    if table:
        known[table["currency"]] = fractions.Fraction(1)
    shares = {"appStore": "0.3", **request.get("commissions", {})} if name == "proceeds" else {}

    def factor(currency, source):
        return known.get(currency, 1) * (1 - fractions.Fraction(shares.get(source, "0")))

    def line(currency):
        return table["currency"] if currency in known else currency

    values = collections.defaultdict(fractions.Fraction)
    measure = FLOWS.get(name) or LEVELS.get(name) or "cohortRevenue"
    for on, currency, source, value in amounts(measure):
        values[on, line(currency)] += value * factor(currency, source)
    counts = collections.Counter()
    if measure == "cohortRevenue":
        for on, currency, _, value in amounts("new"):
            counts[on, line(currency)] += int(value)
    shown = {(datetime.date.fromisoformat(row["at"][:10]), row["currency"]): row["value"] for row in answer["rows"]}
    days = sorted({on for on, _ in shown}) or [datetime.date.max]
    differences = []
    for (on, currency), value in shown.items():
        if name in LEVELS:
            exact = sum((v for (d, c), v in values.items() if c == currency and d <= on), fractions.Fraction())
        elif counts:
            exact = values[on, currency] / counts[on, currency]
        else:
            exact = values.get((on, currency), fractions.Fraction())
        if fractions.Fraction(value) * 1_000_000 != rounded(exact):
            differences.append([name, str(on), currency, value, str(rounded(exact))])
    # Values that the answer does not have.
    expected = counts if counts else values
    for (on, currency), value in expected.items():
        if value != 0 and days[0] <= on <= days[-1] and (on, currency) not in shown:
            differences.append([name, str(on), currency, "missing", str(value)])
    unconverted = sorted({c for _, c in shown if c not in (table["currency"], "")}) if table else []
    if rates and rates["unconverted"] != unconverted:
        differences.append([name, "unconverted", str(rates["unconverted"]), str(unconverted)])
    return len(shown), differences


values = 0
for answer in request.get("answers", []):
    count, differing = judge(answer)
    values += count
    rows += differing[:20]
print(json.dumps({
    "sums": sums, "measures": measures, "values": values,
    "differences": [[str(value) for value in row] for row in rows]}))
sys.exit(1 if rows else 0)
