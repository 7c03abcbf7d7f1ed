"""What the words around a value make of it: each finder of surroundings with what it takes, exactly, and its near misses."""

import pytest

from langgraph_harness_memory.curation.redaction import find_secrets
from langgraph_harness_memory.curation.secret_phrases import (
    find_headers,
    find_keyed,
    find_options,
    find_private_keys,
    find_seed_phrases,
    find_url_passwords,
    looks_random,
)


def found(finder, text):
    return [(kind, text[start:end]) for kind, start, end in finder(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("password: abcdef", ["abcdef"]),
        ("password: abcde", []),
        ("password: abc1", ["abc1"]),
        ("password: ab1", []),
        ("password: 'abcd'", ["abcd"]),
        ("password: 'abc'", []),
        ("password is abc1", ["abc1"]),
        ("password is now x9!kdk2 and password is abc1!", ["x9!kdk2", "abc1"]),
        ("password is 1234", ["1234"]),
        ("password is 123", []),
        ("password is 'red hat'", ["red hat"]),
        ('the password is "red"', []),
        ("the password is swordfish", ["swordfish"]),
        ("the password is swordfish, ok", ["swordfish"]),
        ("the password is swordfish and more", []),
        ("the password is Swordfish", ["Swordfish"]),
        ("the password is correct", []),
        ("the password is disabled", []),
        ("the password is rather boring", []),
        ("the password is hUnTeR and more", ["hUnTeR"]),
        ("the password is correct-horse", []),
        ("the password is correct-horse-battery9", ["correct-horse-battery9"]),
        ("the password is don't-know", []),
        ("password is it's", []),
        ("password = x.y", []),
        ("password = /etc/passwd", []),
        ("password = '/etc/passwd'", ["/etc/passwd"]),
        ("password: f(x)y", []),
        ("password: 'f(x)y'", ["f(x)y"]),
        ("password: hunter2)", ["hunter2"]),
        ("password: 2hunt(er)", ["2hunt(er)"]),
        ("(password: [hunter2]).", ["[hunter2]"]),
        ("password: hunter2!?.", ["hunter2"]),
        ("password: a1b).", ["a1b)."]),
        ("password=secret", []),
        ("password=your_password", []),
        ("password_count=12ab34", []),
        ("passwordReset=abcd1234", []),
        ("password_main=abcd1234", ["abcd1234"]),
        ("passwordMain=abcd1234", ["abcd1234"]),
        ("kennwort: sommer", ["sommer"]),
        ("kennwort ist sommer", []),
        ("kennwort ist sommer26", ["sommer26"]),
        ("kennwort ist -----", []),
        ("密码是hunter2", ["hunter2"]),
        ("密码是好的东西吧", []),
        ("пароль это Весна", []),
        ("parola: «due parole»", ["due parole"]),
        ("PWD=abcd12", ["abcd12"]),
        ("password -> abcd12 secret", ["abcd12"]),
        ("no word of it: abcd1234", []),
    ],
)
def test_a_value_is_judged_by_the_word_and_the_sign_before_it(text, values):
    """After a sign almost anything is a password; after `is` only what no sentence would go on with."""
    assert found(find_keyed, text) == [("password", value) for value in values]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("token: abcd1234", ["abcd1234"]),
        ("token: abcd123", []),
        ("token=550e8400-e29b-41d4-a716-446655440000", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("token=11111111-1111-1111-1111-111111111111", ["11111111-1111-1111-1111-111111111111"]),
        ("secret=aaaa1111", []),
        ("secret=aab11234", ["aab11234"]),
        ("token: word", []),
        ("token is q8Zk2LmN. Next", ["q8Zk2LmN"]),
        ("token_type=abcd1234", []),
        ("my other key is q8Zk2LmN", ["q8Zk2LmN"]),
        ("api key = 'q8Zk2LmN'", ["q8Zk2LmN"]),
    ],
)
def test_a_token_looks_generated(text, values):
    """Eight characters of several kinds, or the form of a UUID."""
    assert found(find_keyed, text) == [("secret", value) for value in values]


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("Authorization: Bearer abc123def456", [("bearer", "abc123def456")]),
        ("BEARER q8Zk2LmN0pRsTuVw.", [("bearer", "q8Zk2LmN0pRsTuVw")]),
        ("Bearer q8Zk2LmN0p", []),
        ("Bearer aaaaaaaaaaa1", []),
        ("basic YWx12345", [("basic", "YWx12345")]),
        ("Basic authentication", []),
        ("x-api-key: q8Zk2LmN0pRs and more", [("secret", "q8Zk2LmN0pRs")]),
        ("auth-token:   9f8e7d6c5b4a", [("secret", "9f8e7d6c5b4a")]),
        ("X-Api-Key: q8Zk2LmN0p", []),
        ("api-key: your-key-q8Zk2LmN", []),
        ("private-token: 123456789012", []),
        ("Bearer abc123def456 and x-api-key: q8Zk2LmN0pRs", [("bearer", "abc123def456"), ("secret", "q8Zk2LmN0pRs")]),
    ],
)
def test_headers_carry_what_looks_generated(text, secrets):
    """Twelve characters, of `Basic` eight; a full stop behind it is the sentence's."""
    assert found(find_headers, text) == secrets


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("postgres://u:pw@h/db", [("url_password", "pw")]),
        ("https://u:pw@h/x@y", [("url_password", "pw")]),
        ("https://h/x:y@z", []),
        ("https://h?x:y@z", []),
        ("https://h#x:y@z", []),
        ("mysql://a:p@ss/w@rd@h", [("url_password", "p@ss/w@rd")]),
        ("https://u:p@ss@h", [("url_password", "p@ss")]),
        ("redis://:pw1@h", [("url_password", "pw1")]),
        ("redis://u:p:w@h", [("url_password", "p:w")]),
        ("http://u:@h", []),
        ("http://u@h", []),
        ("https://q8Zk2LmN0pRsTuVw5x7y@h", [("url_token", "q8Zk2LmN0pRsTuVw5x7y")]),
        ("https://q8Zk2LmN0pRsTuVw5x7@h", []),
        *((f"https://u:{word}@h", []) for word in ("password", "PASS", "pwd", "secret", "<pw>", "your-password")),
        ("a1+.-b://u:pw@h", [("url_password", "pw")]),
        ("x://u:pw@h", []),
        ("://u:pw@h", []),
        ("see a://h and git+ssh://u:pw@h, b2://v:qw@h", [("url_password", "pw"), ("url_password", "qw")]),
        ("GIT://h/x:y@z", []),
    ],
)
def test_a_url_hides_what_stands_before_its_host(text, secrets):
    """Only databases and the like have a slash or an `@` inside a password; a lone user is hidden where it is a token."""
    assert found(find_url_passwords, text) == secrets


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("--password hunter2 x", ["hunter2"]),
        ("--password=hunter2", ["hunter2"]),
        ("--password -x", []),
        ("--token=true", []),
        ("--token your_token", []),
        ("--token=TRUE --secret=abc", ["abc"]),
        ("sshpass -p ab1 ssh", ["ab1"]),
        ("mysqldump -u x -pS3cret db", ["S3cret"]),
        ("mysql -p db", []),
        ("curl -u a:bcd http://h", ["bcd"]),
        ("curl --user 'a:bcd' http://h", ["bcd"]),
        ("--user=a:bcd", ["bcd"]),
        ("machine h login joe password abc", ["abc"]),
    ],
)
def test_command_lines_and_netrc_files_carry_passwords(text, values):
    """The value alone; a placeholder or another option is none."""
    assert found(find_options, text) == [("password", value) for value in values]


@pytest.mark.parametrize(("count", "is_one"), [(11, False), (12, True), (24, True)])
def test_a_seed_phrase_has_twelve_words_or_more(count, is_one):
    """And is called one."""
    words = " ".join((["abandon", "ability", "able", "about"] * 6)[:count])
    assert found(find_seed_phrases, f"my seed phrase is {words}.") == ([("seed_phrase", words)] if is_one else [])
    assert found(find_seed_phrases, f"my shopping list is {words}.") == []


BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"a {BEGIN}\nAB+/=\n{END} b", [f"{BEGIN}\nAB+/=\n{END}"]),
        (f"{BEGIN}\nAB\n{END}\nand\n{BEGIN}\nCD\n{END}", [f"{BEGIN}\nAB\n{END}", f"{BEGIN}\nCD\n{END}"]),
        (f"{BEGIN}\nAB\n{BEGIN}\nCD\n{END}", [f"{BEGIN}\nAB\n", f"{BEGIN}\nCD\n{END}"]),
        (f"{BEGIN}\nAB\n!", [f"{BEGIN}\nAB\n"]),
        (f"{BEGIN}!", [BEGIN]),
        (f"{END} {BEGIN}", [f"{BEGIN}"]),
        (f"{BEGIN}{END}", [f"{BEGIN}{END}"]),
        (END, []),
    ],
    ids=["whole", "two", "two, one open", "open", "bare", "closed before", "empty", "no beginning"],
)
def test_a_private_key_goes_from_its_first_line_to_its_last(text, keys):
    """One that is not closed takes what looks like its body, and never the next one."""
    assert found(find_private_keys, text) == [("private_key", key) for key in keys]


@pytest.mark.parametrize(
    ("value", "is_random"),
    [
        ("q8Zk2LmN0pRs", True),
        ("q8Zk2LmN0pR", False),
        ("abcdefghijkl", False),
        ("aBcDeFgHiJkL", True),
        ("AbcDefghIjkl", True),
        ("AbcdefghIjkl", False),
        ("aBcDeFgHiJ_L", False),
        ("aBcDeFgHiJ-L", False),
        ("123456789012", False),
        ("12345678901a", True),
        ("a11111111111", False),
        ("src/old.files-a", False),
        ("!!!!????....", False),
    ],
)
def test_a_generated_value_mixes_its_characters(value, is_random):
    """Twelve of them; digits and letters, or case that changes more than in camel case, and none too often."""
    assert looks_random(value) == is_random


def test_how_random_is_random_enough_can_be_set():
    """By length and by entropy, both included."""
    assert looks_random("q8Zk2LmN", least=8)
    assert not looks_random("q8Zk2LmN", least=9)
    assert looks_random("ab12ab12ab12", bits=2.0)
    assert not looks_random("ab12ab12ab12", bits=2.01)


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("pwd=ab1", []),
        ("pwd=abc1", [("password", "abc1")]),
        (
            "x\nghp_" + "a1B2c3D4" * 2 + "\ne5F6g7H8i9J0k1L2M3n4\nThanks",
            [("github", "ghp_a1B2c3D4a1B2c3D4\ne5F6g7H8i9J0k1L2M3n4")],
        ),
        ("[REDACTED:password:00ff] password=abcd12", [("password", "abcd12")]),
        ("password=[REDACTED:password:00ff]", []),
        ("密码是\u200bhunt\u200ber2 ok", [("password", "hunt\u200ber2")]),
        ("ｐｗｄ＝ａｂｃ１ ok", [("password", "ａｂｃ１")]),
        ("password=ghp_" + "a1B2c3D4" * 5, [("github", "ghp_" + "a1B2c3D4" * 5)]),
        ("Bearer sk-ant-" + "a1B2c3D4" * 3 + " x", [("anthropic", "sk-ant-" + "a1B2c3D4" * 3)]),
    ],
    ids=[
        "too short",
        "eight",
        "broken",
        "behind one",
        "hidden",
        "invisible",
        "wide",
        "format first",
        "format in header",
    ],
)
def test_a_secret_is_placed_where_it_stands_in_the_text(text, secrets):
    """With line ends and invisible characters inside it, and under the name of the rule that knows most."""
    assert [(each.kind, text[each.start : each.end]) for each in find_secrets(text)] == secrets
