"""Credentials that are known by what stands around them: a word such as `password`, a header, a URL, a PEM frame.

The value itself may look like anything, so each finder first looks for its surroundings and then judges the value. All
of them take time linear in the text: every repetition that may fail is bounded.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

Found = tuple[str, int, int]
"""Kind of secret, and where it starts and ends in the text that was searched."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSWORD = r"(?:pass(?:word|wd|phrase|code)|\bpwd|\bpw\b|(?<=[_-])pw\b|(?-i:PWD))"
_TOKEN = (
    r"(?:(?:api|access|auth|account|secret|signing|encryption|master|service|admin|license|session|subscription|shared|app|storage)"
    r"[ _-]?keys?|secret|token|credentials?|client[ _-]?secret|(?-i:\bPAT\b|(?<=_)PAT\b)"
    r"|\b(?:my|our|your|his|her|their)\s(?:[\w.]{1,20}\s){0,2}key)"
)
_FOREIGN = (
    r"(?:passwort|kennwort|contrase(?:ñ|n)a|mot de passe|senha|parola|has(?:ł|l)o|wachtwoord|l(?:ö|o)senord|(?:ş|s)ifre|"
    r"парол[ья]|密码|密碼|口令|パスワード|비밀번호|密钥|كلمة المرور|पासवर्ड|mật khẩu)"
)
_CLOSE = r"[>\"'`*\])】」]{0,3}"
_IS = r"(?:\s{1,3}(?:is|was|are|=|will be|ist|lautet|est|es|è|é|это|to|of)\s{1,3}|(?:是|为|為|は|は「|은|는)\s{0,3})"
_SIGN = r"[ \t]{0,3}(?:=>|:=|==?|:|：|＝|->|→)(?:\*\*|__)?[ \t]{0,3}"
_VALUE = (
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{1,300})(?P=quote)|[「“«](?P<framed>[^」”»\n]{1,300})"
    r"|(?P<bare>[^\s\"'`<>,;「」，。；]{1,250}))"
)
_KEYED = re.compile(
    rf"(?:(?P<password>{_PASSWORD})|(?P<token>{_TOKEN})|(?P<foreign>{_FOREIGN}))"
    rf"(?P<tail>(?:[_-][A-Za-z0-9]{{1,20}}){{0,3}}|(?-i:[A-Z][A-Za-z0-9]{{1,20}}))"
    rf"{_CLOSE}(?P<joint>{_SIGN}|{_IS}){{1}}(?:(?:now|still|also|currently|actually|simply|just|jetzt)\s{{1,3}})?{_VALUE}",
    re.IGNORECASE,
)
_KEYED_LITERALS = _words(
    """pass pwd pw pat key secret token credential kennwort contrase mot senha parola has wachtwoord senord ifre парол 密 口令 パス 비밀
    كلمة पास mật"""
)

_HEADER = re.compile(
    r"(?:\b(?P<scheme>bearer|basic)\s{1,3}(?P<credential>[A-Za-z0-9._~+/=-]{8,2000})"
    r"|\b(?:x-)?(?:api-?key|auth-?token|access-?token|vault-token|private-token)\s{0,2}:\s{0,3}(?P<plain>[^\s\"'<>]{8,500}))",
    re.IGNORECASE,
)
_SCHEME_END = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}\Z")
_WEB_SCHEME = re.compile(r"(?:https?|wss?|git|ssh)\Z", re.IGNORECASE)
_AUTHORITY = re.compile(r"[^\s\"'<>`/?#]{0,600}")
_LOOSE_AUTHORITY = re.compile(r"[^\s\"'<>`]{0,600}")
_OPTION = re.compile(
    r"(?:--(?:password|passwd|pass|token|secret|api-key|auth-token|client-secret)(?:[ \t]{1,3}|=)(?P<option>[^\s\"'-][^\s\"']{2,300})"
    r"|\bsshpass[ \t]{1,3}-p[ \t]{0,3}[\"']?(?P<sshpass>[^\s\"']{3,300})"
    r"|\bmysql(?:dump)?[ \t][^\n]{0,200}?[ \t]-p(?P<mysql>[^\s\"'-][^\s\"']{3,300})"
    r"|(?:\bcurl[^\n]{0,300}?[ \t](?:-u|--user)[ \t]{1,3}|--user=)[\"']?[^\s:\"']{1,200}:(?P<curl>[^\s\"']{3,300})"
    r"|\blogin[ \t]{1,3}\S{1,200}\s{1,3}password[ \t]{1,3}(?P<netrc>\S{3,300}))"
)
_SEED_PHRASE = re.compile(
    r"\b(?:seed|recovery|mnemonic|backup)(?:\s(?:phrase|words|seed))?(?:\s(?:is|are)|\s?:)[ \t]{1,3}[\"']?"
    r"(?P<words>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b",
    re.IGNORECASE,
)
"""Twelve to twenty-four words that open a wallet."""
_PEM_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s:,.>|-]|\\[nrt])*")

_PLACEHOLDER = re.compile(
    r"<[^>]*>?|\$\{?\w.*|\{\{?.*|%\(?\w.*|[xX*•.…_-]{3,}|\[?redacted.*|(?:your|my|the|some|example|sample|dummy|fake|placeholder|"
    r"insert|enter|todo|tbd|changeme|change[_-]me|replace)(?:[_ .-].*)?",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[].*|(?:self|this|cls|os|config|settings|env|process|request|req|args|options|opts|user|data|params|form|secrets|vault|var)"
    r"\.[A-Za-z_][\w.]*|\w+::\w.*"
)
_NOT_A_VALUE = _words(
    """str string int integer bool boolean float number bytes text any null none nil undefined true false yes no on off optional required
    password passwd secret token key keys value values field fields hidden encrypted hashed masked type object array list dict default
    empty missing unset n/a na none? char varchar secretstr"""
)
_NOT_A_PASSWORD = _words(
    """a an the my your his her its our their this that these those not no never always too very so now then only also still already just
    wrong right correct incorrect invalid valid weak strong safe unsafe secure insecure short long empty missing unknown same different
    new old good bad fine ok okay case set in on at for from with without by about stored kept sent used found lost gone here there where
    what when how why which who sensitive optional necessary mandatory important available unavailable reset visible plain public private
    unique random simple secret and or but if as it he she they we you i to be been being less more at all both either up down out over
    longer shorter enough"""
)
_BORING_TAIL = re.compile(
    r"(?:[_-]|(?<=[a-z])|\A)(?:count|counts|type|name|names|url|uri|path|file|files|length|len|limit|policy|hash|hint|field|label|usage|id|ids|size|"
    r"manager|reset|protected|regex|min|max|prompt|ring|stroke|board|expiry|expires|expires_in|ttl|budget|rate|index|format|version|s)\Z",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]+(?:[_./-][A-Za-z]+)*[.:]?")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@~-]*(?:/[\w.@~-]*)*|[A-Za-z]:\\.*|https?://.*")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def looks_random(value: str, *, least: int = 12, bits: float = 2.8) -> bool:
    """Tell a generated credential from words, by its length, its mix of characters and its entropy.

    Args:
        value: The candidate.
        least: Characters it must have.
        bits: Shannon entropy per character that it must have; words and numbers of this length stay below 3.5, and the
            mix of characters tells them apart.
    """
    if len(value) < least or (_WORDS.fullmatch(value) and not _has_mixed_case(value)):
        return False
    has_digit = any(c.isdigit() for c in value)
    has_letter = any(c.isalpha() for c in value)
    mixed = (has_digit and has_letter) or (_has_mixed_case(value) and "_" not in value and "-" not in value)
    return mixed and _entropy(value) >= bits


def find_keyed(text: str) -> Iterator[Found]:
    """Find values that a word names: `password = …`, `the password is …`, `"apiKey": "…"`, `密码是…`."""
    lowered = text.lower()
    if not any(literal in lowered for literal in _KEYED_LITERALS):
        return
    at = 0
    while match := _KEYED.search(text, at):
        group = next(name for name in ("quoted", "framed", "bare") if match[name] is not None)
        start, end = match.span(group)
        if group == "bare":
            end = start + len(_without_closing(match[group]))
        kind = "secret" if match["token"] else "password"
        if end > start and _is_secret(match, text[start:end], after=text[end : end + 3], is_bare=group == "bare"):
            yield kind, start, end
            at = end
        else:
            at = max(match.start(group), match.start() + 1)


def find_headers(text: str) -> Iterator[Found]:
    """Find what stands after `Bearer`, `Basic` and in `X-Api-Key` headers."""
    for match in _HEADER.finditer(text):
        group = "credential" if match["scheme"] else "plain"
        value = match[group].rstrip(".")
        least = 8 if (match["scheme"] or "").lower() == "basic" else 12
        if looks_random(value, least=least, bits=2.5) and not _PLACEHOLDER.fullmatch(value):
            start = match.start(group)
            yield (match["scheme"] or "secret").lower(), start, start + len(value)


def find_url_passwords(text: str) -> Iterator[Found]:
    """Find passwords in `scheme://user:password@host`, and tokens that stand for the user."""
    at = text.find("://")
    while at >= 0:
        start = at + 3
        if _SCHEME_END.search(text, max(0, at - 31), at):
            strict = _WEB_SCHEME.search(text, max(0, at - 31), at)
            yield from _password_of_authority(text, start, _AUTHORITY if strict else _LOOSE_AUTHORITY)
        at = text.find("://", start)


def find_options(text: str) -> Iterator[Found]:
    """Find passwords given on a command line or in a netrc file."""
    for match in _OPTION.finditer(text):
        group = match.lastgroup or ""
        value = match[group]
        if not _PLACEHOLDER.fullmatch(value) and value.lower() not in _NOT_A_VALUE:
            yield "password", *match.span(group)


def find_seed_phrases(text: str) -> Iterator[Found]:
    """Find the words that restore a wallet."""
    for match in _SEED_PHRASE.finditer(text):
        yield "seed_phrase", *match.span("words")


def find_private_keys(text: str) -> Iterator[Found]:
    """Find PEM and PGP private keys, whole; a frame that never closes takes what still looks like its body."""
    begins = [match.span() for match in _PEM_BEGIN.finditer(text)]
    ends = [match.span() for match in _PEM_END.finditer(text)] if begins else []
    for (start, body), (limit, _) in zip(begins, [*begins[1:], (len(text), 0)], strict=False):
        closing = bisect_left(ends, (body, 0))
        if closing < len(ends) and ends[closing][0] < limit:
            yield "private_key", start, ends[closing][1]
        else:
            unclosed = _PEM_BODY.match(text, body, limit)
            yield "private_key", start, unclosed.end() if unclosed else body


def _is_secret(match: re.Match[str], value: str, *, after: str, is_bare: bool) -> bool:
    """Judge a value by the word that names it, the sign between them, and its own looks."""
    if value.lower() in _NOT_A_VALUE or _PLACEHOLDER.fullmatch(value) or _BORING_TAIL.search(match["tail"] or ""):
        return False
    if is_bare and (_CODE.fullmatch(value) or _PATH.fullmatch(value)):
        return False
    assigned = any(sign in match["joint"] for sign in ":=：＝>→")
    if match["token"]:
        return looks_random(value, least=8, bits=2.3) or _UUID.fullmatch(value) is not None
    if len(value) < 4:
        return False
    if assigned or not is_bare:
        return not is_bare or _is_word_like_secret(value) or not _WORDS.fullmatch(value) or len(value) >= 6
    if match["foreign"]:
        return any(c.isascii() and not c.isalpha() for c in value) and any(c.isascii() and c.isalnum() for c in value)
    return _is_said_password(value, after)


def _is_word_like_secret(value: str) -> bool:
    return any(not c.isalpha() for c in value)


def _is_said_password(value: str, after: str) -> bool:
    """Judge the word after "the password is": anything odd is one, an ordinary word only where the sentence ends with it."""
    if not value.isalpha():
        return not _WORDS.fullmatch(value) and not re.fullmatch(r"[A-Za-z]+'[a-z]+|\d{1,3}", value)
    if _has_mixed_case(value):
        return True
    word = value.lower()
    if word in _NOT_A_PASSWORD or word.endswith(("ed", "ing", "able", "ible", "ly", "ory", "ent", "ant")):
        return False
    return not after.strip() or after[0] in ".!?,;)\n\"'" or not value.isascii()


def _password_of_authority(text: str, start: int, authority: re.Pattern[str]) -> Iterator[Found]:
    """Look at what stands before the host; only web addresses have paths in which an `@` is usual."""
    matched = authority.match(text, start)
    raw = matched.group() if matched else ""
    user, has_at, _ = raw.rpartition("@")
    if not has_at:
        return
    name, has_colon, password = user.partition(":")
    if has_colon and password:
        if not _PLACEHOLDER.fullmatch(password) and password.lower() not in ("password", "pass", "pwd", "secret"):
            yield "url_password", start + len(name) + 1, start + len(user)
    elif looks_random(name, least=20):
        yield "url_token", start, start + len(name)


def _without_closing(value: str) -> str:
    """Drop the punctuation that belongs to the sentence or the brackets around a bare value."""
    bare = value.rstrip(".:!?")
    while bare and bare[-1] in ")]}" and bare.count(bare[-1]) > bare.count({")": "(", "]": "[", "}": "{"}[bare[-1]]):
        bare = bare[:-1].rstrip(".:")
    return bare if len(bare) >= 4 else value


def _has_mixed_case(value: str) -> bool:
    """Tell `hUnTeR` and `aB3x` from `Hunter` and `HUNTER`: case changes inside the word more than camel case does."""
    changes = sum(1 for a, b in pairwise(value) if a.islower() and b.isupper())
    return changes >= max(2, len(value) // 8)


def _entropy(value: str) -> float:
    size = len(value)
    counts = {c: value.count(c) for c in set(value)}
    return -sum(n / size * math.log2(n / size) for n in counts.values())
