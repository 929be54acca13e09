"""Searches an order of claims that explains the responses about one purchase (linearizability): as if there were one copy of
it, on which one operation happens at a time, each between the start and the end of its request.
"""

import dataclasses

# As many steps as a search may take before it gives up, which counts as not explained.
LIMIT = 2_000_000


@dataclasses.dataclass(frozen=True)
class Claim:
    """A customer presented the purchase. One that is open got no answer: it may have happened, at any time, or not."""

    begin: float
    end: float
    customer: str
    is_accepted: bool
    is_open: bool = False


@dataclasses.dataclass(frozen=True)
class Sight:
    """A customer looked, and had the purchase or not."""

    begin: float
    end: float
    customer: str
    has_it: bool


def after(holder, one, mode):
    """Returns the holder after a step, or `False` where the step cannot be at this place."""
    if isinstance(one, Sight):
        return holder if (holder == one.customer) == one.has_it else False
    may = mode == "transfer" or holder in (None, one.customer)
    if one.is_open:
        return one.customer if may else holder
    if may != one.is_accepted:
        return False
    return one.customer if may else holder


def explain(claims, sights, mode):
    """Whether there is such an order, and how many steps the search took."""
    steps = sorted([*claims, *sights], key=lambda one: (one.begin, one.end))
    # What is open need not be in the order.
    needed = frozenset(place for place, one in enumerate(steps) if not (isinstance(one, Claim) and one.is_open))
    known, count, stack = set(), 0, [(frozenset(), None)]
    while stack:
        done, holder = stack.pop()
        if needed <= done:
            return True, count
        if (done, holder) in known:
            continue
        known.add((done, holder))
        count += 1
        if count > LIMIT:
            return False, count
        left = [place for place in range(len(steps)) if place not in done]
        # What began after another one's end comes after it.
        first_end = min(steps[place].end for place in left)
        for place in left:
            if steps[place].begin > first_end:
                break
            then = after(holder, steps[place], mode)
            if then is not False:
                stack.append((done | {place}, then))
    return False, count
