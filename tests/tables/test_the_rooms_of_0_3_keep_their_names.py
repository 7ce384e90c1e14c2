"""`onegrad.estimators` and `onegrad.data` give the names of `onegrad.tables`, with a warning."""

import importlib

import pytest

from onegrad import tables


@pytest.mark.parametrize(("room", "name"), [("estimators", "load"), ("data", "source")])
def test_a_name_of_0_3_warns_where_it_is_used(room, name):
    with pytest.warns(DeprecationWarning, match=rf"import {name} from onegrad.tables") as caught:
        value = getattr(importlib.import_module(f"onegrad.{room}"), name)
    assert value is getattr(tables, name) and caught[0].filename == __file__
    with pytest.raises(ImportError):
        exec(f"from onegrad.{room} import nothing")
