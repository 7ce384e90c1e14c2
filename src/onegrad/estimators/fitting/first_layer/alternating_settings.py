"""How much network a number of rows is worth: neurons, searches, members, rounds, by a budget.

Neurons are looked for in several *searches* of some hundreds each, which cost less than one search
for all of them and find more; one readout then goes over the neurons of all searches.
"""

from __future__ import annotations

from dataclasses import dataclass

from onegrad.exceptions import check_choice

BUDGETS = ("fast", "default", "best")

SEARCH = 600  # neurons of one search
FAST = 400  # with the fast budget
ALONE = 1000  # neurons up to which a width that was asked for is one search
PER_ROW = 6  # neurons a row at most, where rows are few
FEW = 600  # rows up to which a committee costs next to nothing
MANY = 8_000  # rows from which a further search pays
CLASSES = 10  # from so many on one more, and two where rows are many
SAMPLE = {"fast": 10_000, "default": 20_000, "best": 40_000}


@dataclass(frozen=True)
class Capacity:
    """Of one network: neurons, searches for them, most rounds of a search; and how many networks.

    `further` are the most rounds with the neurons of all searches where targets have no noise,
    `steps` the most gradient steps after the rounds of a search.
    """

    width: int
    searches: int
    members: int
    rounds: int
    further: int
    steps: int


@dataclass(frozen=True)
class Wish:
    """What was asked for; None is left to the rows and the budget."""

    budget: str
    width: int | None
    members: int | None
    rounds: int | None

    def __post_init__(self) -> None:
        check_choice("budget", self.budget, BUDGETS)

    def capacity(self, rows: int, classes: int) -> Capacity:
        """The capacity for a sample of so many rows and classes, none where targets are numbers."""
        fast, search = self.budget == "fast", FAST if self.budget == "fast" else SEARCH
        many = rows >= MANY
        if self.width is None:
            pays = 2 if fast else 3 + many + (1 + many if classes >= CLASSES else 0)
            width = min(max(PER_ROW * rows, 1), pays * search)
            searches = -(-width // search)
        else:
            width = self.width
            searches = 1 if width <= ALONE else -(-width // search)
        rounds = self.rounds
        if rounds is None:
            rounds = 32 if searches == 1 else 8 if classes else 24
        further = (1 if fast or many else 2) * rounds
        several = self.budget == "best" or (rows <= FEW and self.width is None and not fast)
        members = self.members or (3 if several else 1)
        # gradient steps: of no use to neurons that are pooled, and as dear as rounds
        steps = 4 if classes and searches == 1 else 0
        return Capacity(width, searches, members, rounds, further, steps)
