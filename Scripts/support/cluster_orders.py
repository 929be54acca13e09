"""Checks that the responses about one purchase are linearizable.

Searches an order of the operations that explains all responses: one operation happens at a time, on one copy of the purchase,
each between the start and the end of its request.
"""

import dataclasses

# The largest number of steps in a search. A longer search counts as not explained.
MAX_STEPS = 2_000_000


@dataclasses.dataclass(frozen=True)
class Claim:
    """A customer presented the purchase. An unanswered claim may have taken effect at any time after its start, or never."""

    begin: float
    end: float
    customer: str
    is_accepted: bool
    is_unanswered: bool = False


@dataclasses.dataclass(frozen=True)
class Read:
    """A response that showed whether a customer had the purchase."""

    begin: float
    end: float
    customer: str
    has_purchase: bool


def holder_after(holder, step, mode):
    """Returns the holder after a step, or `False` if the step contradicts the current holder."""
    if isinstance(step, Read):
        return holder if (holder == step.customer) == step.has_purchase else False
    is_allowed = mode == "transfer" or holder in (None, step.customer)
    if step.is_unanswered:
        return step.customer if is_allowed else holder
    if is_allowed != step.is_accepted:
        return False
    return step.customer if is_allowed else holder


def explain(claims, reads, mode):
    """Returns whether an order of the operations explains all responses, and the number of steps in the search."""
    steps = sorted([*claims, *reads], key=lambda step: (step.begin, step.end))
    # Unanswered claims may be missing from the order.
    needed = frozenset(place for place, step in enumerate(steps) if not (isinstance(step, Claim) and step.is_unanswered))
    visited, count, stack = set(), 0, [(frozenset(), None)]
    while stack:
        done, holder = stack.pop()
        if needed <= done:
            return True, count
        if (done, holder) in visited:
            continue
        visited.add((done, holder))
        count += 1
        if count > MAX_STEPS:
            return False, count
        left = [place for place in range(len(steps)) if place not in done]
        # A step that began after the end of another step comes after it.
        first_end = min(steps[place].end for place in left)
        for place in left:
            if steps[place].begin > first_end:
                break
            then = holder_after(holder, steps[place], mode)
            if then is not False:
                stack.append((done | {place}, then))
    return False, count
