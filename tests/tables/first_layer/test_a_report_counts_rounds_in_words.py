"""The report says in words how the first layer was learned."""

from onegrad.tables.first_layer.alternating import describe


def test_rounds_of_one_search_or_of_several_members():
    for update, rounds, words in (
        ("none", 0, "as drawn, since learning it did not help"),
        ("gradient", 1, "1 round of gradient steps"),
        (["neurons", "none"], [12, 0], "0 to 12 rounds of new neurons"),
        ([["neurons", "gradient"], ["neurons"]], [[3, 9], [4]], "3 to 9 rounds of new neurons or"),
    ):
        (name, layer), *_ = describe({"update": update, "round": rounds})
        assert name == "first layer" and layer.startswith(words)
