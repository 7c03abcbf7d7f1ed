"""Credentials that open nothing, and texts that only look like credentials.

Both are put together when they are asked for, from a vendor's prefix and seeded noise, so that no scanner stumbles over
the repository. A test of a route to disk sends `fake_credentials()` along it and looks for the bytes at the other end.
"""

import base64
import json
import random
from dataclasses import dataclass

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_DIGITS = "0123456789"
_ALNUM = _LOWER + _UPPER + _DIGITS
_URL_SAFE = _ALNUM + "_-"
_HEX = _DIGITS + "abcdef"


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeCredential:
    """A credential in the words around it."""

    kind: str
    """Whose format it has, for messages."""
    secret: str
    """What must not be found again; of a private key a line of its body."""
    text: str
    """A line or two as people and programs write them; holds the secret."""


def fake_credentials(*, seed: int = 0) -> list[FakeCredential]:
    """Return one credential per current vendor format and per usual phrase.

    Args:
        seed: Another seed gives other credentials of the same formats.
    """
    noise = random.Random(seed)

    def of(alphabet: str, length: int) -> str:
        body = "".join(noise.choice(alphabet) for _ in range(max(0, length - 3)))
        return body + noise.choice(alphabet[-10:]) + noise.choice(alphabet[:10]) + noise.choice(alphabet)

    cases = [*_vendor_tokens(of), *_phrases(of)]
    return [FakeCredential(kind=kind, secret=secret, text=text.replace("§", secret)) for kind, secret, text in cases]


def look_alikes(*, seed: int = 0) -> list[str]:
    """Return lines that hold no secret and have tempted scanners: hashes, ids, code, prose about passwords."""
    noise = random.Random(seed)

    def of(alphabet: str, length: int) -> str:
        return "".join(noise.choice(alphabet) for _ in range(length))

    return [
        f"commit {of(_HEX, 40)} fixed the crash",
        f"sha256:{of(_HEX, 64)}",
        f"request id {of(_HEX, 8)}-{of(_HEX, 4)}-4{of(_HEX, 3)}-a{of(_HEX, 3)}-{of(_HEX, 12)}",
        f'"integrity": "sha512-{of(_ALNUM, 86)}=="',
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{of(_ALNUM, 43)} alice@laptop",
        f"-----BEGIN CERTIFICATE-----\nMII{of(_ALNUM, 61)}\n-----END CERTIFICATE-----",
        f"traceparent: 00-{of(_HEX, 32)}-{of(_HEX, 16)}-01",
        f"data:image/png;base64,iVBORw0KGgo{of(_ALNUM, 120)}",
        "the password is required and must be at least twelve characters long",
        "password: str = Field(min_length=8)",
        "The token is stored in the keychain, never in the file.",
        "token_count=8192 max_tokens: 4096",
        "api_key = os.environ['SERVICE_API_KEY']",
        "export API_KEY=<YOUR_API_KEY>",
        "password=${DB_PASSWORD}",
        "Set `OPENAI_API_KEY=sk-...` before you start.",
        "pip install scikit-learn sk-learn-contrib-extensions-and-more",
        "postgres://localhost:5432/shop and https://example.org:8080/a@b",
        "git clone git@github.com:acme/widgets.git",
        "The key idea is that secrets rotate every ninety days.",
        "She forgot her password again, so I reset it for her.",
        "primary_key: customer_id, foreign_key: order_id",
        "Bearer tokens and Basic auth are both supported by the gateway.",
        "tests/auth/test_password_reset.py::test_token_is_single_use",
        "hf_hub_download(repo_id='acme/model')",
        "Order 4029357733, tracking 1Z999AA10123456784, phone +49 30 901820",
        "Invalid password: the account was locked after three attempts",
        "my github username is octo-cat-2026 and I like ghp prefixes",
        "getUserByIdAndSessionTokenFromRequestContext(userId)",
        "secret santa is on December 12 at 18:00",
        'etag: W/"' + of(_HEX, 32) + '"',
        "docker pull ghcr.io/acme/app@sha256:" + of(_HEX, 64),
        "密码是什么？请告诉我怎么重置密码。",
        "Das Passwort ist abgelaufen.",
        "credentials: 'include'",
        "if (user.password === undefined) throw new Error('no password')",
    ]


def _vendor_tokens(of) -> list[tuple[str, str, str]]:  # type: ignore[no-untyped-def]  # a closure over the noise
    claims = (
        base64.urlsafe_b64encode(json.dumps({"role": "service_role", "iss": "supabase"}).encode()).decode().rstrip("=")
    )
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
    return [
        ("openai", "sk-" + of(_ALNUM, 48), "my key is § please use it"),
        ("openai project", "sk-" + "proj-" + of(_URL_SAFE, 120), "OPENAI_API_KEY=§"),
        ("openai service", "sk-" + "svcacct-" + of(_URL_SAFE, 100), 'client = OpenAI(api_key="§")'),
        ("anthropic", "sk-" + "ant-api03-" + of(_URL_SAFE, 93) + "AA", "x-api-key: §"),
        ("openrouter", "sk-" + "or-v1-" + of(_HEX, 64), "I pasted § into the settings"),
        ("huggingface", "hf" + "_" + of(_LOWER + _UPPER, 34), "huggingface-cli login --token §"),
        ("groq", "gsk" + "_" + of(_ALNUM, 52), "here: §"),
        ("langsmith", "lsv2" + "_pt_" + of(_HEX, 32) + "_" + of(_HEX, 10), "LANGSMITH_API_KEY=§"),
        ("github classic", "ghp" + "_" + of(_ALNUM, 36), "git push https://alice:§@github.com/a/b"),
        ("github app", "ghs" + "_" + of(_ALNUM, 36), "token §, valid for an hour"),
        ("github fine-grained", "github" + "_pat_" + of(_ALNUM, 22) + "_" + of(_ALNUM, 59), "use §"),
        ("gitlab", "glpat" + "-" + of(_URL_SAFE, 20), "PRIVATE-TOKEN: §"),
        ("npm", "npm" + "_" + of(_ALNUM, 36), "//registry.example/:_authToken=§"),
        ("pypi", "pypi" + "-AgEIcHlwaS5vcmc" + of(_URL_SAFE, 140), "twine upload -p §"),
        ("docker", "dckr" + "_pat_" + of(_URL_SAFE, 27), "docker login -u me -p §"),
        ("aws id", "AKIA" + of(_UPPER + "234567", 16), "aws_access_key_id = §"),
        ("aws secret", of(_ALNUM + "+/", 40), "aws_secret_access_key = §"),
        ("gcp api", "AIza" + of(_URL_SAFE, 35), "https://maps.example/api?key=§&q=x"),
        ("gcp oauth secret", "GOCSPX" + "-" + of(_URL_SAFE, 28), '"client_secret": "§"'),
        ("google access", "ya29" + "." + of(_URL_SAFE, 120), "Authorization: Bearer §"),
        ("azure storage", of(_ALNUM + "+/", 86) + "==", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=§;"),
        ("azure client", of(_ALNUM, 3) + "8Q~" + of(_ALNUM + "_.", 34), "client secret: §"),
        ("azure sas", of(_ALNUM, 43) + "%3D", "https://a.blob.example/c/f?sv=2024&se=2026&sig=§"),
        ("databricks", "dapi" + of(_HEX, 32), "databricks token §"),
        ("supabase", "sbp" + "_" + of(_HEX, 40), "SUPABASE_ACCESS_TOKEN=§"),
        ("supabase service role", header + "." + claims + "." + of(_URL_SAFE, 43), "the service role key is §"),
        ("digitalocean", "dop" + "_v1_" + of(_HEX, 64), "doctl auth init -t §"),
        ("vault", "hvs" + "." + of(_URL_SAFE, 90), "VAULT_TOKEN=§"),
        ("slack bot", "xox" + "b-" + of(_DIGITS, 12) + "-" + of(_DIGITS, 12) + "-" + of(_ALNUM, 24), "slack: §"),
        (
            "slack webhook",
            "T" + of(_UPPER, 8) + "/B" + of(_UPPER, 8) + "/" + of(_ALNUM, 24),
            "https://hooks.slack.com/services/§",
        ),
        ("discord bot", "M" + of(_ALNUM, 23) + "." + of(_ALNUM, 6) + "." + of(_URL_SAFE, 38), "bot.run('§')"),
        ("telegram", of("123456789", 10) + ":AA" + of(_URL_SAFE, 33), "my bot token: §"),
        ("stripe", "sk" + "_live_" + of(_ALNUM, 24), "stripe.api_key = '§'"),
        ("stripe restricted", "rk" + "_test_" + of(_ALNUM, 99), "§"),
        ("twilio key", "SK" + of(_HEX, 32), "twilio api key sid §"),
        ("twilio token", of(_HEX, 32), "TWILIO_AUTH_TOKEN=§"),
        ("sendgrid", "SG." + of(_URL_SAFE, 22) + "." + of(_URL_SAFE, 43), "sendgrid §"),
        ("mailgun", "key" + "-" + of(_HEX, 32), "curl -s --user 'api:§' https://api.example"),
        ("shopify", "shpat" + "_" + of(_HEX, 32), "X-Shopify-Access-Token: §"),
        ("notion", "ntn" + "_" + of(_ALNUM, 46), "notion §"),
        ("linear", "lin" + "_api_" + of(_ALNUM, 40), "linear key §"),
        ("grafana", "glsa" + "_" + of(_ALNUM, 32) + "_" + of(_HEX, 8), "grafana §"),
        ("tailscale", "tskey" + "-auth-" + of(_ALNUM, 17) + "-" + of(_ALNUM, 32), "tailscale up --authkey §"),
        ("jwt", header + "." + of(_URL_SAFE, 60) + "." + of(_URL_SAFE, 43), "cookie: session=§"),
    ]


def _phrases(of) -> list[tuple[str, str, str]]:  # type: ignore[no-untyped-def]  # a closure over the noise
    key_line = of(_ALNUM + "+/", 64)
    begin, end = "-----BEGIN {}PRIVATE KEY-----", "-----END {}PRIVATE KEY-----"
    basic = base64.b64encode(f"alice:{of(_ALNUM, 14)}".encode()).decode()
    return [
        ("pem", key_line, f"{begin.format('RSA ')}\n§\n{of(_ALNUM, 64)}\n{end.format('RSA ')}"),
        ("pem in json", key_line, f'"private_key": "{begin.format("")}\\n§\\n{end.format("")}\\n"'),
        ("openssh key", key_line, f"{begin.format('OPENSSH ')}\n§\n{end.format('OPENSSH ')}"),
        ("postgres url", of(_ALNUM, 16), "DATABASE_URL=postgresql://shop:§@db.example:5432/shop"),
        ("redis url", of(_ALNUM, 20), "redis://:§@cache.example:6379/0"),
        ("mongodb url", of(_ALNUM, 12) + "/x", "mongodb+srv://app:§@cluster.example/?retryWrites=true"),
        ("basic header", basic, "Authorization: Basic §"),
        ("bearer header", of(_URL_SAFE, 40), "curl -H 'Authorization: Bearer §' https://api.example"),
        ("said password", "hunter2", "my password is §, don't tell"),
        ("quoted password", "correct horse battery staple", 'the wifi passphrase is "§"'),
        ("env password", of(_ALNUM, 10) + "!", "DB_PASSWORD=§"),
        ("yaml password", "T0p$ecret", "db:\n  user: shop\n  password: §\n"),
        ("json token", of(_HEX, 40), '{"access_token": "§", "expires_in": 3600}'),
        ("german password", "Sommer2026!", "Mein Passwort lautet §."),
        ("chinese password", "hunter2", "我的密码是§，请保密"),
        ("netrc", of(_ALNUM, 12), "machine api.example login alice password §"),
        ("pin", "482913", "the passcode is §"),
    ]
