"""The report says in words how the first layer was learned."""

from onegrad.tables.first_layer.alternating import describe


def test_rounds_of_one_search_or_of_several_members():
    for rounds, words in (
        (0, "as drawn, since learning it did not help"),
        (1, "1 round of new neurons"),
        ([12, 0], "0 to 12 rounds of new neurons"),
        ([[3, 9], [4]], "3 to 9 rounds of new neurons"),
    ):
        assert describe({"round": rounds}) == [("first layer", words)]
