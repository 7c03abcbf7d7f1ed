"""The formats of credentials that vendors issue, as one table.

A format is a literal that the credential holds (looked for first, which costs next to nothing) and a pattern that only
runs where the literal stands. Patterns are written so that each of them takes time linear in the text: a literal, then
classes of characters with a least length, and no part that can match the same text in two ways.

Lengths are somewhat below what vendors issue today, since a truncated credential is still worth hiding.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretFormat:
    """How one kind of credential looks."""

    kind: str
    """What stands in the placeholder."""
    literals: tuple[str, ...]
    """Any of these must stand in the text, else the pattern is not tried."""
    pattern: re.Pattern[str]
    """The credential itself is group 1 where there is one, else the whole match."""
    must_look_random: bool = False
    """The literal is also an ordinary beginning of words, so that letters alone, or a few repeated ones, are no credential."""


def _format(kind: str, literals: str, pattern: str, *, must_look_random: bool = False) -> SecretFormat:
    return SecretFormat(
        kind=kind,
        literals=tuple(literals.split()),
        pattern=re.compile(pattern, re.ASCII),
        must_look_random=must_look_random,
    )


def secret_formats() -> tuple[SecretFormat, ...]:
    """Return the table; a credential that fits two formats is named after the first."""
    return (*_models(), *_clouds(), *_code_hosts(), *_messages_and_payments(), *_services(), *_standards())


def _models() -> tuple[SecretFormat, ...]:
    return (
        _format("anthropic", "sk-ant-", r"sk-ant-[\w-]{16,}"),
        _format("openrouter", "sk-or-", r"sk-or-(?:v\d-)?[\w-]{20,}"),
        _format("langfuse", "sk-lf-", r"sk-lf-[0-9a-f-]{20,}"),
        _format("openai", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,}"),
        _format("openai", "sk-", r"(?<![A-Za-z0-9])sk-[\w-]{18,}", must_look_random=True),
        _format("huggingface", "hf_", r"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{28,}", must_look_random=True),
        _format("huggingface", "api_org_", r"(?<![A-Za-z0-9_])api_org_[A-Za-z0-9]{28,}"),
        _format("replicate", "r8_", r"(?<![A-Za-z0-9_])r8_[A-Za-z0-9]{30,}"),
        _format("groq", "gsk_", r"(?<![A-Za-z0-9_])gsk_[A-Za-z0-9]{32,}"),
        _format("xai", "xai-", r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{48,}"),
        _format("perplexity", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
        _format("nvidia", "nvapi-", r"nvapi-[\w-]{40,}"),
        _format("cerebras", "csk-", r"(?<![A-Za-z0-9])csk-[a-z0-9]{32,}", must_look_random=True),
        _format("fireworks", "fw_", r"(?<![A-Za-z0-9_])fw_[A-Za-z0-9]{20,}", must_look_random=True),
        _format("together", "tgp_v1_", r"tgp_v1_[\w-]{32,}"),
        _format("voyage", "pa-", r"(?<![A-Za-z0-9-])pa-[\w-]{40,}", must_look_random=True),
        _format("pinecone", "pcsk_", r"pcsk_\w{30,}"),
        _format("tavily", "tvly-", r"tvly-[\w-]{24,}"),
        _format("firecrawl", "fc-", r"(?<![A-Za-z0-9-])fc-[0-9a-f]{32}"),
        _format("jina", "jina_", r"jina_\w{48,}"),
        _format("elevenlabs", "sk_", r"(?<![A-Za-z0-9_])sk_[0-9a-f]{40,}"),
        _format("e2b", "e2b_", r"e2b_[0-9a-f]{32,}"),
        _format("langsmith", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{24,}(?:_[0-9a-f]{6,})?"),
        _format("langsmith", "ls__", r"(?<![A-Za-z0-9_])ls__[0-9a-f]{32}"),
        _format("wandb", "wandb_v1_", r"wandb_v1_\w{40,}"),
    )


def _clouds() -> tuple[SecretFormat, ...]:
    return (
        _format("aws", "AKIA ASIA ABIA ACCA", r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        _format("aws", "ABSK", r"(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/]{80,}={0,2}"),
        _format("aws", "amzn.mws.", r"amzn\.mws\.[0-9a-f-]{36}"),
        _format("google", "AIza", r"(?<![A-Za-z0-9])AIza[\w-]{32,}"),
        _format("google", "ya29.", r"(?<![A-Za-z0-9])ya29\.[\w.-]{20,}"),
        _format("google", "GOCSPX-", r"GOCSPX-[\w-]{20,}"),
        _format("google", "1//0", r"(?<![A-Za-z0-9/:])1//0[\w-]{38,}"),
        _format("firebase", "APA91b", r"(?:[\w-]{11}:)?APA91b[\w-]{100,}"),
        _format("azure", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{30,36}"),
        _format("azure", "AZDO", r"(?<![A-Za-z0-9])[A-Za-z0-9]{70,76}AZDO[A-Za-z0-9]{4}"),
        _format("azure", "JQQJ99", r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{50,54}JQQJ99[A-Za-z0-9+/]{10,30}={0,2}"),
        _format("azure", "AccountKey= SharedAccessKey=", r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{32,}={0,2})"),
        _format("azure", "sig=", r"[?&]sig=((?:[A-Za-z0-9+/_-]|%[0-9A-Fa-f]{2}){32,}={0,2})"),
        _format("alibaba", "LTAI", r"(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{16,}"),
        _format("tencent", "AKID", r"(?<![A-Za-z0-9])AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
        _format("yandex", "AQVN", r"(?<![A-Za-z0-9])AQVN[\w-]{34,}"),
        _format("digitalocean", "_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
        _format("cloudflare", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
        _format("cloudflare", "cfut_ cfat_", r"cf[ua]t_[A-Za-z0-9]{32,}"),
        _format("heroku", "HRKU-", r"HRKU-[\w-]{32,}"),
        _format("fly", "fo1_ fm1_ fm1r_ fm2_", r"(?<![A-Za-z0-9_])(?:fo1|fm1r?|fm2)_[\w+/=-]{40,}"),
        _format("netlify", "nfp_", r"nfp_[A-Za-z0-9]{30,}"),
        _format("render", "rnd_", r"(?<![A-Za-z0-9_])rnd_[A-Za-z0-9]{24,}", must_look_random=True),
        _format("vercel", "vercel_ vcp_ vck_ vci_ vca_ vcr_", r"(?:vercel_blob_rw|vc[pkiar])_\w{24,}"),
        _format("databricks", "dapi dose", r"(?<![A-Za-z0-9])(?:dapi|dose)[0-9a-f]{32}(?:-\d+)?"),
        _format("supabase", "sbp_", r"sbp_(?:v0_)?[0-9a-f]{32,}"),
        _format("supabase", "sb_secret_", r"sb_secret_[\w-]{20,}"),
        _format("neon", "napi_", r"napi_[a-z0-9]{48,}"),
        _format("planetscale", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w.=-]{30,}"),
    )


def _code_hosts() -> tuple[SecretFormat, ...]:
    return (
        _format("github", "github_pat_", r"github_pat_\w{36,}"),
        _format("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}"),
        _format(
            "gitlab",
            "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glffct- glwt-",
            r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt|ffct|wt)-[\w.-]{18,}",
        ),
        _format("bitbucket", "ATBB", r"(?<![A-Za-z0-9])ATBB[A-Za-z0-9]{28,}"),
        _format("atlassian", "ATATT3", r"ATATT3[\w=-]{60,}"),
        _format("npm", "npm_", r"(?<![A-Za-z0-9_])npm_[A-Za-z0-9]{32,}"),
        _format("pypi", "pypi-", r"pypi-[\w-]{50,}"),
        _format("rubygems", "rubygems_", r"rubygems_[0-9a-f]{40,}"),
        _format("crates", "cio", r"(?<![A-Za-z0-9])cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", must_look_random=True),
        _format("nuget", "oy2", r"(?<![A-Za-z0-9])oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
        _format("clojars", "CLOJARS_", r"CLOJARS_[a-z0-9]{48,}"),
        _format("docker", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{24,}"),
        _format("artifactory", "AKCp", r"(?<![A-Za-z0-9])AKCp[A-Za-z0-9]{60,}"),
        _format("terraform", ".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{50,}"),
        _format("pulumi", "pul-", r"(?<![A-Za-z0-9-])pul-[0-9a-f]{40}"),
        _format("sonarqube", "sqp_ squ_ sqa_", r"(?<![A-Za-z0-9_])sq[pua]_[0-9a-f]{40}"),
        _format("linear", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    )


def _messages_and_payments() -> tuple[SecretFormat, ...]:
    return (
        _format("slack", "xox", r"(?<![A-Za-z0-9])xox(?:[abceoprs]|e\.xox[bp])-[\w-]{12,}", must_look_random=True),
        _format("slack", "xapp-", r"xapp-\d-[\w-]{20,}"),
        _format("slack", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,})"),
        _format("discord", "/api/webhooks/", r"/api/webhooks/(\d{15,22}/[\w-]{50,})"),
        _format("discord", ".", r"(?<![\w.-])[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])"),
        _format("teams", "webhook.office.com/", r"webhook\.office\.com/webhookb2/([\w@/-]{60,})"),
        _format("telegram", ":AA", r"(?<!\d)\d{8,11}:AA[\w-]{32,}"),
        _format("twilio", "SK", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])"),
        _format("sendgrid", "SG.", r"(?<![A-Za-z0-9])SG\.[\w-]{16,24}\.[\w-]{32,}"),
        _format("mailgun", "key-", r"(?<![A-Za-z0-9-])key-[0-9a-f]{32}(?![A-Za-z0-9])"),
        _format("mailchimp", "-us", r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?!\d)"),
        _format("brevo", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[\w-]{60,}"),
        _format("resend", "re_", r"(?<![A-Za-z0-9_])re_[A-Za-z0-9]{7,9}_[A-Za-z0-9]{20,}"),
        _format("stripe", "k_live_ k_test_", r"(?<![A-Za-z0-9])[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        _format("stripe", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
        _format("square", "sq0", r"sq0(?:atp|csp|idp)-[\w-]{20,}"),
        _format("square", "EAAA", r"(?<![A-Za-z0-9])EAAA[\w-]{58,}"),
        _format("facebook", "EAA", r"(?<![A-Za-z0-9])EAA[A-Za-z0-9]{80,}"),
        _format("paypal", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{12,}\$[0-9a-f]{30,}"),
        _format("shopify", "shp", r"shp(?:at|ca|pa|ss|tka|ua)_[0-9A-Fa-f]{30,}"),
        _format("twitter", "AAAAAAAAAAAAAAAAAAAA", r"(?<![\w+/=])A{20,22}[A-Za-z0-9]{4,20}%[\w%]{40,}"),
    )


def _services() -> tuple[SecretFormat, ...]:
    return (
        _format("notion", "ntn_", r"(?<![A-Za-z0-9_])ntn_[A-Za-z0-9]{36,}"),
        _format("notion", "secret_", r"(?<![A-Za-z0-9_])secret_[A-Za-z0-9]{40,}", must_look_random=True),
        _format("figma", "figd_ figo_", r"fig[do]_[\w-]{36,}"),
        _format("airtable", "pat", r"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{60,}"),
        _format("newrelic", "NRAK- NRJS- NRII-", r"NR(?:AK|JS|II)-[\w-]{20,}"),
        _format("grafana", "glsa_ glc_", r"(?<![A-Za-z0-9_])gl(?:sa|c)_[\w+/=]{32,}"),
        _format("sentry", "sntrys_ sntryu_", r"sntry[su]_[\w+/=]{40,}"),
        _format("posthog", "phx_", r"(?<![A-Za-z0-9_])phx_[A-Za-z0-9]{32,}"),
        _format("vault", "hvs. hvb. hvr.", r"(?<![A-Za-z0-9])hv[sbr]\.[\w-]{20,}"),
        _format("doppler", "dp.", r"(?<![A-Za-z0-9.])dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{36,}"),
        _format("onepassword", "ops_eyJ", r"ops_eyJ[\w=-]{60,}"),
        _format("age", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Za-z]{50,}"),
        _format("postman", "PMAK-", r"PMAK-[0-9a-f]{20,}-[0-9a-f]{30,}"),
        _format("prefect", "pnu_ pnb_", r"(?<![A-Za-z0-9_])pn[ub]_[A-Za-z0-9]{32,}"),
        _format("contentful", "CFPAT-", r"CFPAT-[\w-]{36,}"),
        _format("typeform", "tfp_", r"(?<![A-Za-z0-9_])tfp_[\w-]{36,}"),
        _format("dropbox", "sl.", r"(?<![A-Za-z0-9.])sl\.[\w-]{100,}"),
        _format("tailscale", "tskey-", r"tskey-(?:auth|api|client|scim|webhook)-[\w-]{20,}"),
        _format("okta", "SSWS", r"SSWS\s{1,3}([\w-]{36,})"),
        _format("scaleway", "SCW", r"(?<![A-Za-z0-9])SCW[A-Z0-9]{17}(?![A-Za-z0-9])"),
        _format("confluent", "cflt", r"(?<![A-Za-z0-9])cflt[A-Za-z0-9+/]{56,}"),
    )


def _standards() -> tuple[SecretFormat, ...]:
    return (
        _format("jwt", "eyJ", r"(?<![\w-])eyJ[\w-]{10,}+\.(?:eyJ)?[\w-]{10,}+(?:\.[\w-]{4,}+){1,3}"),
        _format(
            "wireguard", "PrivateKey PresharedKey", r"(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)"
        ),
    )
