"""One credential of every format of the table, made as its vendor issues it, in a sentence that names no secret.

The words around it give nothing away, so that only the format itself can find it.
"""

import random

import pytest

from langgraph_harness_memory.curation.redaction import find_secrets
from langgraph_harness_memory.curation.secret_patterns import secret_formats

DIGITS, LOWER = "0123456789", "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = {
    "h": "0123456789abcdef",
    "l": LOWER + DIGITS,
    "u": LOWER.upper() + DIGITS,
    "m": LOWER + LOWER.upper() + DIGITS,
    "d": DIGITS,
}
"""Letters of a shape's holes: hexadecimal, lower, upper, mixed, digits."""

SHAPES = {
    "anthropic": ["sk-ant-api03-<m93>"],
    "openrouter": ["sk-or-v1-<h64>"],
    "langfuse": ["sk-lf-<h8>-<h4>-<h4>-<h4>-<h12>"],
    "openai": ["sk-proj-<m48>", "sk-svcacct-<m48>", "sk-admin-<m48>", "sk-<m48>"],
    "huggingface": ["hf_<m34>", "api_org_<m34>"],
    "replicate": ["r8_<m37>"],
    "groq": ["gsk_<m52>"],
    "xai": ["xai-<m80>"],
    "perplexity": ["pplx-<m48>"],
    "nvidia": ["nvapi-<m64>"],
    "cerebras": ["csk-<l48>"],
    "fireworks": ["fw_<m24>"],
    "together": ["tgp_v1_<m43>"],
    "voyage": ["pa-<m43>"],
    "pinecone": ["pcsk_<m5>_<m60>"],
    "tavily": ["tvly-dev-<m32>"],
    "firecrawl": ["fc-<h32>"],
    "jina": ["jina_<h32><m28>"],
    "elevenlabs": ["sk_<h48>"],
    "e2b": ["e2b_<h40>"],
    "langsmith": ["lsv2_pt_<h32>_<h10>", "lsv2_sk_<h32>_<h10>", "ls__<h32>"],
    "wandb": ["wandb_v1_<m60>"],
    "aws": ["AKIA<u16>", "ASIA<u16>", "ABSK<m108>==", "amzn.mws.<h8>-<h4>-<h4>-<h4>-<h12>"],
    "google": ["AIza<m35>", "ya29.<m60>", "GOCSPX-<m28>", "1//0<m60>"],
    "firebase": ["<m11>:APA91b<m134>"],
    "azure": [
        "<m3>8Q~<m34>",
        "<m76>AZDO<m4>",
        "<m52>JQQJ99<m22>ABAA",
        "AccountKey=<m86>==",
        "SharedAccessKey=<m43>=",
        "https://x.blob.example/a?sv=2&sig=<m43>%3D",
    ],
    "alibaba": ["LTAI<m20>"],
    "tencent": ["AKID<m32>"],
    "yandex": ["AQVN<m36>"],
    "digitalocean": ["dop_v1_<h64>", "doo_v1_<h64>", "dor_v1_<h64>"],
    "cloudflare": ["v1.0-<h24>-<h146>", "cfut_<m40>", "cfat_<m40>"],
    "heroku": ["HRKU-<h8>-<h4>-<h4>-<h4>-<h12>"],
    "fly": ["fo1_<m43>", "fm1_<m90>", "fm1r_<m90>", "fm2_<m90>"],
    "netlify": ["nfp_<m36>"],
    "render": ["rnd_<m28>"],
    "vercel": ["vercel_blob_rw_<m16>_<m30>", "vcp_<m56>", "vck_<m56>", "vci_<m56>", "vca_<m56>", "vcr_<m56>"],
    "databricks": ["dapi<h32>", "dose<h32>-2"],
    "supabase": ["sbp_<h40>", "sb_secret_<m31>"],
    "neon": ["napi_<l64>"],
    "planetscale": ["pscale_tkn_<m43>", "pscale_oauth_<m43>", "pscale_pw_<m43>"],
    "github": ["github_pat_<m22>_<m59>", "ghp_<m36>", "gho_<m36>", "ghu_<m36>", "ghs_<m36>", "ghr_<m36>"],
    "gitlab": ["glpat-<m20>"],
    "bitbucket": ["ATBB<m32>"],
    "atlassian": ["ATATT3<m180>=<u8>"],
    "npm": ["npm_<m36>"],
    "pypi": ["pypi-AgEIcHlwaS5vcmc<m150>"],
    "rubygems": ["rubygems_<h48>"],
    "crates": ["cio<m32>"],
    "nuget": ["oy2<l43>"],
    "clojars": ["CLOJARS_<l60>"],
    "docker": ["dckr_pat_<m27>", "dckr_oat_<m32>"],
    "artifactory": ["AKCp<m69>"],
    "terraform": ["<m14>.atlasv1.<m67>"],
    "pulumi": ["pul-<h40>"],
    "sonarqube": ["sqp_<h40>", "squ_<h40>", "sqa_<h40>"],
    "linear": ["lin_api_<m40>", "lin_oauth_<h64>"],
    "slack": [
        "xoxb-<d12>-<d12>-<m24>",
        "xoxp-<d12>-<d12>-<h32>",
        "xoxe.xoxp-1-<m60>",
        "xapp-1-<u11>-<d13>-<h64>",
        "https://hooks.slack.com/services/T<u8>/B<u8>/<m24>",
    ],
    "discord": ["https://discord.com/api/webhooks/<d18>/<m68>", "M<m25>.<m6>.<m38>"],
    "teams": ["https://acme.webhook.office.com/webhookb2/<h8>-<h4>-<h4>-<h4>-<h12>@<h8>/IncomingWebhook/<h32>"],
    "telegram": ["<d10>:AA<m33>"],
    "twilio": ["SK<h32>"],
    "sendgrid": ["SG.<m22>.<m43>"],
    "mailgun": ["key-<h32>"],
    "mailchimp": ["<h32>-us12"],
    "brevo": ["xkeysib-<h64>-<m16>", "xsmtpsib-<h64>-<m16>"],
    "resend": ["re_<m8>_<m24>"],
    "stripe": ["sk_live_<m24>", "sk_test_<m24>", "rk_live_<m24>", "whsec_<m32>"],
    "square": ["sq0atp-<m22>", "sq0csp-<m43>", "EAAA<m60>"],
    "facebook": ["EAA<m160>"],
    "paypal": ["access_token$production$<l16>$<h32>", "access_token$sandbox$<l16>$<h32>"],
    "shopify": ["shpat_<h32>", "shpca_<h32>", "shppa_<h32>", "shpss_<h32>"],
    "twitter": ["AAAAAAAAAAAAAAAAAAAAA<m12>%2B<m60>"],
    "notion": ["ntn_<d11><m35>", "secret_<m43>"],
    "figma": ["figd_<m40>", "figo_<m40>"],
    "airtable": ["pat<m14>.<h64>"],
    "newrelic": ["NRAK-<u27>", "NRJS-<h19>a", "NRII-<m32>"],
    "grafana": ["glsa_<m32>_<h8>", "glc_<m60>"],
    "sentry": ["sntrys_<m80>", "sntryu_<h64>"],
    "posthog": ["phx_<m43>"],
    "vault": ["hvs.<m90>", "hvb.<m90>", "hvr.<m90>"],
    "doppler": ["dp.pt.<m43>", "dp.st.dev.<m43>", "dp.ct.<m43>", "dp.sa.<m43>", "dp.scim.<m43>", "dp.audit.<m43>"],
    "onepassword": ["ops_eyJ<m200>"],
    "age": ["AGE-SECRET-KEY-1<u58>"],
    "postman": ["PMAK-<h24>-<h34>"],
    "prefect": ["pnu_<m36>", "pnb_<m36>"],
    "contentful": ["CFPAT-<m43>"],
    "typeform": ["tfp_<m44>_<m14>"],
    "dropbox": ["sl.<m130>"],
    "tailscale": ["tskey-auth-<m12>-<m32>", "tskey-api-<m12>-<m32>", "tskey-client-<m12>-<m32>"],
    "okta": ["SSWS 00<m40>"],
    "scaleway": ["SCW<u17>"],
    "confluent": ["cflt<m60>"],
    "jwt": ["eyJ<m34>.eyJ<m60>.<m43>"],
}
"""What each vendor issues; `<h32>` is a hole of 32 letters of an alphabet."""

ELSEWHERE = {"wireguard"}
"""A line of a configuration and not a credential in a sentence; the routes' tests hold it."""


def filled(shape: str, seed: int) -> str:
    draw, out = random.Random(f"{shape} {seed}"), ""
    for part in shape.replace("<", "\0").replace(">", "\0").split("\0"):
        is_hole = part[:1] in ALPHABETS and part[1:].isdigit() and f"<{part}>" in shape
        out += "".join(draw.choices(ALPHABETS[part[0]], k=int(part[1:]))) if is_hole else part
    return out


CASES = [(kind, shape) for kind, shapes in SHAPES.items() for shape in shapes]


def test_every_vendor_of_the_table_has_a_shape() -> None:
    """A format that is added brings its sample."""
    assert {each.kind for each in secret_formats()} == set(SHAPES) | ELSEWHERE


@pytest.mark.parametrize(("kind", "shape"), CASES, ids=[shape.split("<")[0] or kind for kind, shape in CASES])
def test_a_credential_is_found_by_its_format_alone(kind, shape) -> None:
    """Whole, under its vendor's name, whatever its letters are, and wherever it stands in a text."""
    for seed in range(5):
        credential = filled(shape, seed)
        text = f"we saw {credential} there"
        (found,) = find_secrets(text)
        assert found.kind == kind
        hidden = text[found.start : found.end]
        assert len(hidden) > 0.7 * len(credential) or shape.startswith(("https://", "SSWS", "Account", "Shared"))
        assert text[found.end :].lstrip("%3D=").startswith(" there")


ALONE = {
    "sk-<m48>", "hf_<m34>", "api_org_<m34>", "r8_<m37>", "gsk_<m52>", "xai-<m80>", "csk-<l48>", "fw_<m24>", "pa-<m43>", "fc-<h32>",
    "sk_<h48>", "ls__<h32>", "AKIA<u16>", "ASIA<u16>", "ABSK<m108>==", "AIza<m35>", "ya29.<m60>", "1//0<m60>", "<m3>8Q~<m34>",
    "<m76>AZDO<m4>", "LTAI<m20>", "AKID<m32>", "AQVN<m36>", "fo1_<m43>", "fm1_<m90>", "fm1r_<m90>", "fm2_<m90>", "rnd_<m28>",
    "dapi<h32>", "dose<h32>-2", "ATBB<m32>", "npm_<m36>", "cio<m32>", "oy2<l43>", "AKCp<m69>", "<m14>.atlasv1.<m67>", "pul-<h40>",
    "sqp_<h40>", "squ_<h40>", "sqa_<h40>", "xoxb-<d12>-<d12>-<m24>", "xoxp-<d12>-<d12>-<h32>", "M<m25>.<m6>.<m38>", "SK<h32>",
    "SG.<m22>.<m43>", "key-<h32>", "<h32>-us12", "re_<m8>_<m24>", "sk_live_<m24>", "sk_test_<m24>", "rk_live_<m24>", "EAAA<m60>",
    "EAA<m160>", "AAAAAAAAAAAAAAAAAAAAA<m12>%2B<m60>", "ntn_<d11><m35>", "secret_<m43>", "pat<m14>.<h64>", "glsa_<m32>_<h8>",
    "glc_<m60>", "phx_<m43>", "hvs.<m90>", "hvb.<m90>", "hvr.<m90>", "dp.pt.<m43>", "dp.st.dev.<m43>", "dp.ct.<m43>", "dp.sa.<m43>",
    "dp.scim.<m43>", "dp.audit.<m43>", "pnu_<m36>", "pnb_<m36>", "tfp_<m44>_<m14>", "sl.<m130>", "SCW<u17>", "cflt<m60>",
    "eyJ<m34>.eyJ<m60>.<m43>",
}  # fmt: skip
"""Formats whose first letters also stand inside words and other tokens, so that they must begin one."""


@pytest.mark.parametrize("before", ["x", "X", "7"])
@pytest.mark.parametrize(("kind", "shape"), CASES, ids=[shape.split("<")[0] or kind for kind, shape in CASES])
def test_a_credential_in_the_middle_of_a_token_is_known_by_an_unmistakable_format_alone(kind, shape, before) -> None:
    """`notAKIA…` is an identifier; `xghp_…` is still somebody's token with a letter before it."""
    found = find_secrets(f"we saw {before}{filled(shape, 0)} there")
    assert [each.kind for each in found][:1] == ([] if shape in ALONE else [kind])


ENDS = ["AKIA<u16>", "AKID<m32>", "cio<m32>", "oy2<l43>", "SK<h32>", "key-<h32>", "SCW<u17>", "M<m25>.<m6>.<m38>"]
"""Formats of one length."""


@pytest.mark.parametrize("after", ["Zz9Q" * 8, "zz9q" * 8, "7" * 30])
@pytest.mark.parametrize("shape", ENDS)
def test_a_format_of_one_length_is_not_the_beginning_of_a_longer_token(shape, after) -> None:
    """Letters and digits that go on make it something else."""
    assert find_secrets(f"we saw {filled(shape, 0)}{after} there") == []


ORDINARY = [
    "sk-learn-contrib-extras-of-mine", "hf_transformerstransformerstransformers", "csk-" + "abcdefgh" * 5, "fw_" + "firmware" * 4,
    "pa-" + "panama-papers-" * 4, "rnd_" + "roundness" * 4, "cio" + "information" * 2 + "technology", "xoxb-hugs-and-kisses-for-you",
    "secret_" + "gardenofroses" * 4,
]  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_a_name_that_begins_as_a_credential_does_is_none(name) -> None:
    """Where words begin that way too, the rest must look generated."""
    assert find_secrets(f"we saw {name} there") == []


def test_a_format_that_no_word_has_needs_no_random_look() -> None:
    """A token of one letter over and over, as tests and templates have it, is hidden too."""
    assert [each.kind for each in find_secrets("we saw ghp_" + "a" * 36)] == ["github"]
