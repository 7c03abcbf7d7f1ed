"""What is taken for a secret, what is not, and what stands in its place."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.redaction import PLACEHOLDER, find_secrets, redact
from langgraph_harness_memory.curation.secret_patterns import secret_formats
from langgraph_harness_memory.testing.credentials import fake_credentials, look_alikes

FAKES = fake_credentials()
BY_KIND = {fake.kind: fake for fake in FAKES}


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.kind)
def test_a_credential_of_a_current_format_is_hidden(fake):
    """Each format by itself, so that a failure names the vendor."""
    hidden = redact(fake.text)
    assert fake.secret not in hidden
    assert PLACEHOLDER.search(hidden)


@pytest.mark.parametrize("seed", range(1, 6))
def test_other_credentials_of_the_same_formats_are_hidden(seed):
    """The rules know formats and not the samples: other seeds do as well."""
    missed = [fake.kind for fake in fake_credentials(seed=seed) if fake.secret in redact(fake.text)]
    assert missed == []


@pytest.mark.parametrize(
    "line", look_alikes(), ids=lambda line: re.sub(r"[^A-Za-z0-9]+", " ", line)[:24].strip() or "no Latin script"
)
def test_a_look_alike_is_left_alone(line):
    """Hashes, ids, code and prose about passwords stay as they are."""
    assert redact(line) == line


def test_the_sets_are_large_enough_to_judge_by():
    """At least 41 credentials of different formats and 26 look-alikes."""
    assert len(BY_KIND) >= 41
    assert len(set(look_alikes())) >= 26


def test_a_key_and_a_password_said_in_one_sentence_are_both_hidden():
    """The sentence around them stays readable."""
    hidden = redact("my api key is " + "sk-" + "abc123def456ghi789jkl012 and the password is hunter2")
    assert re.fullmatch(
        r"my api key is \[REDACTED:openai:[0-9a-f]{4}\] and the password is \[REDACTED:password:[0-9a-f]{4}\]", hidden
    )


@pytest.mark.parametrize(
    "line",
    [
        "the password is swordfish.",
        "Password: swordfish",
        "pwd=Sw0rd!fish",
        '{"password": "two words"}',
        "my passphrase was 'open the door'",
        "password is now x9!kdk2",
        "login with password=abc123",
        "PIN passcode: 4821",
        "<password>: hunter2",
        "**Password:** hunter2",
        "パスワードは「hunter2」です",
        "пароль: Весна2026",
        "mot de passe : Soleil!42",
        "비밀번호는 hunter2",
        "clientSecret: 'q8Zk2LmN0pRsTuVw'",
        "X-Vault-Token: 9f8e7d6c5b4a39281706",
        "sshpass -p S3cretPw ssh host",
        "mysql -u root -pS3cretPw shop",
        "curl -u alice:S3cretPw https://api.example",
        "--api-key=Zk29sLq0",
        "my mistral key is q8Zk2LmN0pRsTuVw",
        "AZURE_DEVOPS_PAT=q8Zk2LmN0pRsTuVw5x7y",
        "seed phrase: " + " ".join(["abandon", "ability", "able", "about", "above", "absent"] * 2),
    ],
)
def test_a_value_that_its_words_call_a_secret_is_hidden(line):
    """Passwords look like anything; what is said about them tells."""
    assert PLACEHOLDER.search(redact(line))


@pytest.mark.parametrize(
    "line",
    [
        "the password is wrong.",
        "the password was changed yesterday",
        "Your password is too short",
        "password: Optional[str] = None",
        "password = getpass.getpass()",
        "password = self.config.password",
        "token: int",
        "secret: true",
        "the secret is to keep stirring",
        "the token is valid until Friday",
        "password=********",
        "passphrase: <enter yours>",
        "password_hash=argon2id",
        "api_key_id: 42",
        "https://user:password@example.org/",
        "http://localhost:3000/@scope/package",
        "key = value",
        "my key takeaway is patience",
        "Pat is 34 years old",
        "The passport is in the drawer: top left",
        "compass: north-east",
    ],
)
def test_talk_about_secrets_is_no_secret(line):
    """Placeholders, types, code and sentences about passwords stay as they are."""
    assert redact(line) == line


def test_a_token_with_invisible_characters_is_hidden():
    """A zero-width space inside a token does not carry it past the rules."""
    token = BY_KIND["github classic"].secret
    assert redact(f"use {token[:10]}\u200b{token[10:30]}\ufeff{token[30:]} now") == redact(f"use {token} now")


def test_a_token_in_full_width_letters_is_hidden():
    """Full-width forms read as the same token."""
    token = BY_KIND["github classic"].secret
    wide = "".join(chr(ord(c) + 0xFEE0) for c in token)
    assert redact(wide) == redact(token)


@pytest.mark.parametrize("cut", [6, 15, 30])
@pytest.mark.parametrize("kind", ["github classic", "anthropic", "google access", "stripe"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n  ", "\n> "])
def test_a_token_broken_by_a_line_end_is_hidden(kind, cut, line_break):
    """A terminal or a quoting mail program wraps long tokens."""
    token = BY_KIND[kind].secret
    hidden = redact(f"{token[:cut]}{line_break}{token[cut:]}\nThanks")
    assert token[cut:] not in hidden or len(token[cut:]) < 8
    assert token[:cut] not in hidden or cut <= 6
    assert hidden.endswith("\nThanks")


def test_the_word_after_a_whole_token_stays():
    """Joining lines does not eat what follows a token that was complete."""
    token = BY_KIND["github classic"].secret
    assert redact(f"{token}\nThanks\nBob").endswith("]\nThanks\nBob")


def test_a_private_key_is_hidden_whole():
    """From its first line to its last, and what stands around it stays."""
    begin, end = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    text = f"before\n{begin}\nMIIEabc123+/=\nZZZ999\n{end}\nafter"
    assert re.fullmatch(r"before\n\[REDACTED:private_key:[0-9a-f]{4}\]\nafter", redact(text))


def test_a_private_key_that_is_cut_off_is_hidden_to_the_end_of_its_body():
    """A truncated paste has no last line."""
    begin = "-----BEGIN " + "RSA PRIVATE KEY-----"
    hidden = redact(f"{begin}\nMIIEabc123+/=\nZZZ999")
    assert "MIIE" not in hidden
    assert "ZZZ999" not in hidden


def test_two_private_keys_are_hidden_apart():
    """The text between two keys stays."""
    begin, end = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    key = f"{begin}\nMIIEabc\n{end}"
    assert redact(f"{key}\nand also\n{key}").count("and also") == 1


def test_equal_secrets_get_equal_placeholders():
    """So that a transcript still shows that the same key was meant."""
    one, other = BY_KIND["github classic"].secret, fake_credentials(seed=7)[8].secret
    marks = PLACEHOLDER.findall(redact(f"{one} then {one} then {other}"))
    assert len(marks) == 3
    assert marks[0] == marks[1] != marks[2]


def test_another_key_gives_other_digits():
    """Digits made with a workspace's own key tell nothing elsewhere."""
    text = BY_KIND["github classic"].text
    assert redact(text, key=b"one") != redact(text, key=b"two")


def test_a_found_secret_never_shows_its_value():
    """What is found may be logged."""
    fake = BY_KIND["stripe"]
    (secret,) = find_secrets(fake.text)
    assert fake.text[secret.start : secret.end] == fake.secret
    assert fake.secret not in repr(secret)


def test_the_database_survives_around_a_hidden_url_password():
    """Host, user and database of a connection string are facts."""
    assert re.fullmatch(
        r"postgresql://shop:\[REDACTED:url_password:[0-9a-f]{4}\]@db\.example:5432/shop",
        redact("postgresql://shop:S3cretPw@db.example:5432/shop"),
    )


_PIECES = st.sampled_from(
    [literal for known in secret_formats() for literal in known.literals]
    + [fake.text for fake in FAKES]
    + [
        "password is ",
        "password=",
        "token: ",
        "://",
        "@",
        "\n",
        "\u200b",
        "密码是",
        "[REDACTED:password:00ff]",
        '"',
        " ",
    ]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=12)), max_size=12).map("".join))
def test_any_text_is_redacted_once_and_for_all(text):
    """Whatever the text: spans are in order and apart, and a second pass changes nothing."""
    found = find_secrets(text)
    assert all(0 <= s.start < s.end <= len(text) for s in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    sorted(
        {literal for known in secret_formats() for literal in known.literals}
        | {
            "password=",
            "password is ",
            "密码是",
            "x-api-key:",
            "-----BEGIN " + "PRIVATE KEY-----",
            "a://b:",
            "mysql -p",
            "curl -u ",
            "login a password ",
            "\u200b",
            "a\n",
            "eyJaaaaaaaaaaaa.",
            "[REDACTED:password:0000] password=",
            "Password Password_",
        }
    ),
)
def test_no_text_takes_more_than_linear_time(piece):
    """100 kB of any beginning of a rule, over and over; a rule that looks back at each would take minutes."""
    started = time.process_time()
    find_secrets((piece * (100_000 // len(piece) + 1))[:100_000])
    assert time.process_time() - started < 5
