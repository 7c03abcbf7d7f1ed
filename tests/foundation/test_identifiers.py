"""Ids are opaque, and no two share a file."""

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.identifiers import content_hash, file_stem, tenant_root

HOSTILE = [
    "../../tmp/x",
    "a/b",
    "..",
    ".",
    "",
    "\0",
    "x" * 300,
    "CON",
    "con",
    "com1",
    "a.log",
    "é",
    "e\u0301",
    "A",
    "🚀",
    "a:b",
    "a ",
    "\ud800",
    "用户" * 100,
]


@pytest.mark.parametrize("identifier", HOSTILE)
def test_any_string_becomes_a_name_that_every_file_system_takes(identifier) -> None:
    """No separator, no dot, no upper case, no device name, at most 100 characters."""
    stem = file_stem(identifier)
    assert set(stem) <= set(string.ascii_lowercase + string.digits + "_-~")
    assert 0 < len(stem) <= 100
    assert stem not in {"con", "aux", "nul", "prn"}


@pytest.mark.parametrize("identifier", ["t1", "user-42", "a_b", "0", "x" * 100])
def test_a_short_plain_id_stays_readable(identifier) -> None:
    """What a person can type is what a person sees in the folder."""
    assert file_stem(identifier) == identifier


def test_two_different_ids_never_share_a_file() -> None:
    """Twins by case, by Unicode form, by an ending, by escaping."""
    twins = [
        *HOSTILE,
        "a",
        "a~",
        "-a",
        file_stem("A"),
        file_stem("../../tmp/x"),
        unicodedata.normalize("NFC", "e\u0301x"),
    ]
    assert len({file_stem(i) for i in twins}) == len(set(twins))


@given(st.lists(st.text(st.characters(codec=None)), unique=True, max_size=20))
def test_names_are_injective(identifiers) -> None:
    """Also for ids that nobody thought of."""
    assert len({file_stem(i).casefold() for i in identifiers}) == len(identifiers)


def test_a_named_user_never_meets_the_shared_root() -> None:
    """Reserved names of the workspace are below `users/` when a user bears them."""
    assert str(tenant_root(None)) == "."
    assert {str(tenant_root(u)) for u in ("memory", "sessions")} == {"users/memory", "users/sessions"}


def test_a_content_hash_is_sixteen_hexadecimal_digits() -> None:
    """Long enough that two contents of one message never meet by chance."""
    assert content_hash(b"a") == "ca978112ca1bbdca"
