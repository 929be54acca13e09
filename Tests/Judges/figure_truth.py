"""Computes figures from the books of the simulated store, and compares them with the answers of the server.

Reads {"truth": "<file>", "answers": "<file>", "from": day, "days": number} on standard input. A day is the number of days
since 1970. Prints {"figures": number, "values": number, "transactions": number, "subscriptions": number,
"differenceCount": number, "differences": [at most 20]}. Exit status 0 if there are no differences, else 1.

The script follows the definitions of Documentation/Figures.md and shares no code with the server. The books have the
store's transactions, and the access that the store gave at the end of each day. A subscription must be active on exactly
the days on which the store gave access.
"""

import bisect
import calendar
import collections
import datetime
import json
import re
import sys
from fractions import Fraction

MEAN_MONTH = Fraction(304375, 10000)
EPOCH = datetime.date(1970, 1, 1)
OFFERS = {1: "introductory", 2: "promotional", 3: "offerCode", 4: "winBack"}

request = json.load(sys.stdin)
books = json.load(open(request["truth"]))
answers = json.load(open(request["answers"]))
first_day, day_count = request["from"], request["days"]
last_day = first_day + day_count - 1
differences = []


def day_of(milliseconds):
    return milliseconds // 86_400_000


def date_of(day):
    return EPOCH + datetime.timedelta(days=day)


def half_up(value):
    """Rounds to the nearest integer, and a half away from zero."""
    value = Fraction(value)
    quotient = (2 * abs(value.numerator) + value.denominator) // (2 * value.denominator)
    return quotient if value >= 0 else -quotient


def add_months(day, months):
    date = date_of(day)
    index = date.year * 12 + date.month - 1 + months
    year, month = divmod(index, 12)
    length = calendar.monthrange(year, month + 1)[1]
    return (datetime.date(year, month + 1, min(date.day, length)) - EPOCH).days


def month_of(day):
    date = date_of(day)
    return (datetime.date(date.year, date.month, 1) - EPOCH).days


def months_in(period, count):
    """Returns the length of `count` periods in months. The catalogue writes a period as P1W, P1M or P1Y."""
    number, unit = re.fullmatch(r"P(\d+)([DWMY])", period).groups()
    number = int(number) * count
    return {
        "D": Fraction(number) / MEAN_MONTH, "W": Fraction(7 * number) / MEAN_MONTH, "M": Fraction(number),
        "Y": Fraction(12 * number),
    }[unit]


class Sale:
    def __init__(self, row):
        self.id, self.original, self.product = row["id"], row["original"], row["product"]
        self.renews, self.currency, self.country = row["renews"], row["currency"], row["country"]
        self.purchased, self.expires, self.revoked = row["purchased"], row["expires"], row["revoked"]
        self.amount = row["milliunits"] * 1000
        offer = row.get("offer")
        self.is_trial = bool(offer and offer["isFree"])
        self.offer = ""
        # A bill of a commitment pays a month of a yearly product.
        period = (row.get("period", books["periods"].get(self.product)), 1)
        if offer:
            period = (offer["period"], offer["count"])
            self.offer = OFFERS[offer["kind"]] + (f"/{offer['id']}" if offer["id"] else "")
        self.monthly = 0
        if self.renews and not self.is_trial:
            self.monthly = half_up(Fraction(self.amount) / months_in(*period))
        self.refund = 0
        if self.revoked is not None:
            share = row["share"]
            self.refund = self.amount if share is None else half_up(Fraction(self.amount * share, 100_000))


sales = [Sale(row) for row in books["transactions"]]
by_id = {sale.id: sale for sale in sales}
grace_days = {id: first_day + day for id, day in books["graceDays"]}
sums = collections.defaultdict(int)      # (figure, day, dimensions, currency) → value, or the change of a level
cohort_money = collections.defaultdict(int)
cohorts = collections.defaultdict(list)  # month → [(start day, paid periods)]


def add(figure, day, value, sale, currency=None):
    sums[figure, day, (sale.product, sale.country, sale.offer), currency or ""] += value


def periods_of(own):
    """Yields (sale, first day, day after the last) for each period of a subscription."""
    own = sorted(own, key=lambda sale: (sale.purchased, int(sale.id)))
    for index, sale in enumerate(own):
        start, end = day_of(sale.purchased), day_of(sale.expires)
        if sale.id in grace_days:
            end = max(end, grace_days[sale.id] + 1)
        if sale.revoked is not None:
            end = min(end, day_of(sale.revoked))
        if index + 1 < len(own):
            end = min(end, day_of(own[index + 1].purchased))
        yield sale, start, end


active_days = collections.defaultdict(set)
for sale in sales:
    if sale.amount > 0:
        paid_on = day_of(sale.purchased)
        add("payments", paid_on, 1, sale)
        add("revenue", paid_on, sale.amount, sale, sale.currency)
        if sale.revoked is not None:
            refunded_on = day_of(sale.revoked)
            add("refunded-payments", refunded_on, 1, sale)
            add("refunds", refunded_on, sale.refund, sale, sale.currency)
            add("revenue", refunded_on, -sale.refund, sale, sale.currency)

subscriptions = collections.defaultdict(list)
for sale in sales:
    if sale.renews:
        subscriptions[sale.original].append(sale)

for original, own in subscriptions.items():
    first = before = None
    trial = trial_end = None
    paid = []
    for sale, start, end in periods_of(own):
        level = "active-trials" if sale.is_trial else "active-subscriptions"
        add(level, start, 1, sale)
        add(level, end, -1, sale)
        active_days[original].update(range(start, end))
        follows = before is not None and start <= before[1]
        if before and not before[0].is_trial and not (follows and not sale.is_trial):
            add("lost-subscriptions", before[1], 1, before[0])
            add("mrr-churn", before[1], -before[0].monthly, before[0], before[0].currency)
        if sale.is_trial:
            if not (follows and before[0].is_trial):
                add("trials-started", start, 1, sale)
                trial = (sale, start)
            trial_end = end
        else:
            paid.append((sale, start, end))
            add("mrr", start, sale.monthly, sale, sale.currency)
            add("mrr", end, -sale.monthly, sale, sale.currency)
            if not (follows and not before[0].is_trial):
                figure = "new" if first is None else "reactivated"
                add(f"{figure}-subscriptions", start, 1, sale)
                add("mrr-new" if first is None else "mrr-reactivation", start, sale.monthly, sale, sale.currency)
            elif before[0].currency == sale.currency:
                change = sale.monthly - before[0].monthly
                add("mrr-expansion" if change > 0 else "mrr-contraction", start, change, sale, sale.currency)
            else:
                add("mrr-contraction", start, -before[0].monthly, before[0], before[0].currency)
                add("mrr-expansion", start, sale.monthly, sale, sale.currency)
            if trial and start <= trial_end + 60:
                add("trial-conversions", start, 1, trial[0])
                add("converted", trial[1], 1, trial[0])
            trial = None
            first = first or (sale, start)
        before = (sale, end)
    if before and not before[0].is_trial:
        add("lost-subscriptions", before[1], 1, before[0])
        add("mrr-churn", before[1], -before[0].monthly, before[0], before[0].currency)
    if first:
        cohorts[month_of(first[1])].append((first[1], paid))
        for sale in own:
            if sale.currency == first[0].currency and sale.amount > 0:
                cohort_money[month_of(first[1]), sale.currency] += sale.amount - sale.refund
        sums["cohort", month_of(first[1]), (), first[0].currency] += 1


# Compares the active days with the access that the store gave at the end of each day. The transactions have only the last
# state of a refund, so a revocation that was reversed later does not end the access.
for original, changes in books["observations"]:
    days, starts = set(), [change[0] for change in changes]
    for offset in range(day_count):
        place = bisect.bisect_right(starts, offset) - 1
        if place < 0:
            continue
        _, id, has_access, is_revoked = changes[place]
        day = first_day + offset
        sale = by_id[id]
        if is_revoked and (sale.revoked is None or day < day_of(sale.revoked)):
            has_access = day < day_of(sale.expires)
        if has_access:
            days.add(day)
    expected = {day for day in active_days[original] if first_day <= day <= last_day}
    if days != expected:
        different = sorted(days ^ expected)
        differences.append(["access", original, str(date_of(different[0])), len(different)])


def compare(name, expected, found):
    """Compares two dictionaries of values. An absent value counts as 0."""
    for key in sorted(set(expected) | set(found)):
        if expected.get(key, 0) != found.get(key, 0):
            differences.append([name, *map(str, key), f"books {expected.get(key, 0)}, server {found.get(key, 0)}"])


def day_of_text(text):
    return (datetime.date.fromisoformat(text[:10]) - EPOCH).days


def number(unit, value):
    scale = 1_000_000 if unit in ("money", "ratio") else 1
    return half_up(Fraction(str(value)) * scale)


def rows(name):
    unit = answers[name]["unit"]
    for row in answers[name]["rows"]:
        key = (day_of_text(row["at"]), row.get("group", ""), row.get("age", 0), row.get("currency", ""))
        yield key, number(unit, row["value"])


LEVELS = {"active-subscriptions", "active-trials", "mrr"}


def series(figure, place=None, by_month=False):
    """Returns the values of a figure by (first day, group, age, currency). `place` is the index of the dimension that groups
    them. With `by_month`, a flow is the sum of the month, and a level the value at its last day."""
    if figure == "proceeds":  # All sales are from the App Store, and its usual commission is 30 %.
        paid = series("revenue", place, by_month)
        return {key: half_up(Fraction(value * 7, 10)) for key, value in paid.items()}
    flows = collections.defaultdict(int)
    for (name, day, dimensions, currency), value in sums.items():
        if name == figure and day <= last_day:
            flows[day, dimensions[place] if place is not None else "", currency] += value
    result = collections.defaultdict(int)
    if figure not in LEVELS:
        for (day, group, currency), value in flows.items():
            result[month_of(day) if by_month else day, group, 0, currency] += value
        return {key: value for key, value in result.items() if value}
    running, changes = collections.defaultdict(int), collections.defaultdict(list)
    for (day, group, currency), value in flows.items():
        changes[day].append(((group, currency), value))
    for day in range(first_day, last_day + 1):
        for line, value in changes[day]:
            running[line] += value
        for (group, currency), value in running.items():
            result[month_of(day) if by_month else day, group, 0, currency] = value
    return {key: value for key, value in result.items() if value}


figures = [name for name in answers if " by " not in name]
values = 0
for name in figures:
    found = {key: value for key, value in rows(name) if value}
    values += len(answers[name]["rows"])
    if name == "churn":
        lost, active = series("lost-subscriptions"), series("active-subscriptions")
        expected = {
            key: half_up(Fraction(value * 1_000_000, active[key[0] - 1, "", 0, ""]))
            for key, value in lost.items() if active.get((key[0] - 1, "", 0, ""), 0) > 0}
    elif name == "trial-conversion-rate":
        started, converted = series("trials-started"), series("converted")
        expected = {key: half_up(Fraction(value * 1_000_000, started[key])) for key, value in converted.items()}
    elif name == "retention":
        expected = {}
        for month, members in cohorts.items():
            last = min(add_months(month, 1) - 1, last_day)
            for age in range(1, 61):
                if add_months(last, age) > last_day:
                    break
                kept = sum(
                    any(start <= add_months(begin, age) < end for _, start, end in paid) for begin, paid in members)
                expected[month, "", age, ""] = half_up(Fraction(kept * 1_000_000, len(members)))
    elif name == "lifetime-value":
        expected = {
            (month, "", 0, currency): half_up(Fraction(money, sums["cohort", month, (), currency]))
            for (month, currency), money in cohort_money.items()}
    else:
        expected = series(name)
    compare(name, expected, found)
    for place, group in enumerate(["product", "country", "offer"]):
        grouped = f"{name} by {group}"
        if grouped in answers:
            values += len(answers[grouped]["rows"])
            compare(grouped, series(name, place, by_month=True), {key: value for key, value in rows(grouped) if value})

print(json.dumps({
    "figures": len(figures), "values": values, "transactions": len(sales), "subscriptions": len(subscriptions),
    "differenceCount": len(differences), "differences": differences[:20],
}))
sys.exit(1 if differences else 0)
