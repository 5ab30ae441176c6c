"""Signs by which pages that are no content are known: vendors' marks, and the words such pages are headed with.

A vendor's mark is found where only the vendor writes it (headers, scripts, attributes); words only in titles,
headings and nearly empty pages, in lower case and with straight apostrophes. `core.page_state` decides what
they mean together; what missing pages say is in `core.missing_signs`, walls of
other kinds in `core.wall_signs`.
"""

# ruff: noqa: RUF001 - words of many languages

from __future__ import annotations

import re
from typing import Final

from kb_pipeline.core.missing_signs import EXCLAMATIONS


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Any of the expressions, anywhere."""
    return re.compile("|".join(alternatives))


def marks(*alternatives: str) -> re.Pattern[str]:
    """Any of the expressions, anywhere, in either case: for HTML."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


def headline(*alternatives: str) -> re.Pattern[str]:
    """A whole headline: "Slow down: a cycling guide" is none that says "slow down"."""
    return re.compile(rf"{EXCLAMATIONS}(?:{'|'.join(alternatives)})[\s.!:?…]*$")


EXPLAINS: Final = any_of(
    r"\bmeans\b",
    "status code",
    "http (?:status|code)",
    r"(?:response|error) code(?!:? ?\d)",
    r"\boccurs\b",
    "(?:is|are) returned",
    "returned (?:when|while|by|if)",
    "answers? (?:with |it with )?[45]\\d\\d",
    "for example",
    "this (?:message|error) (?:appears|is shown)",
    "bedeutet",
    "signifie",
    "significa",
)
"""A page that explains such a page to its reader."""


CHALLENGE_HEADERS: Final = (
    ("cf-mitigated", any_of("challenge")),
    ("x-vercel-mitigated", any_of("challenge")),
    ("x-amzn-waf-action", any_of("challenge", "captcha")),
    ("cdn-challenge", any_of("")),
    ("x-datadome-response", any_of("challenge", "captcha", "block")),
)
CHALLENGE_MARKS: Final = marks(
    "_cf_chl_opt",
    "cf-browser-verification",
    "cf_chl_prog",
    r"""challenge-platform/[^"'\s]{0,200}chl_page""",
    r"""<iframe[^>]{0,200}/_Incapsula_Resource""",
    "incapsula incident id",
    "sec-if-cpt-container",
    "sec-cpt-if",
    r"/_sec/cp_challenge/",
    r"""id=["']?px-captcha""",
    r"captcha\.px-c",
    r"(?:geo|ct|c|interstitial)\.captcha-delivery\.com",
    "sucuri_cloudproxy_js",
    r"/\.bunny-shield/",
    "gokuProps",
    r"\.captcha\.awswaf\.com",
    "/errors/validateCaptcha",
    r"vercel\.link/security-checkpoint",
    "distil_r_captcha",
    "ddos-guard/js-challenge",
    "/__ddg",
    "/__qrator/",
    "anubis_challenge",
    r"/\.within\.website/x/cmd/anubis",
    "go-away/cmd/go-away/challenge",
    r"validate\.perfdrive\.com",
    "radware bot manager captcha",
)
"""Only where a visitor is checked."""
SENSOR_MARKS: Final = marks(
    "/_Incapsula_Resource",
    "_pxAppId",
    r"window\.KPSDK",
    "AwsWafIntegration",
    r"\.awswaf\.com",
    r"window\.bobcmn",
    "/TSPD/",
    "/_fs-ch-",
    r"""id=["']?challenge-form""",
)
"""Where a visitor is checked, and on every other page of a site with that shield too."""
CAPTCHA_MARKS: Final = marks(
    "cf-turnstile", "g-recaptcha", "h-captcha", r"hcaptcha\.com", "smartcaptcha", "geetest", "frc-captcha", "altcha"
)
CHALLENGE_WORDS: Final = any_of(
    "performing security verification",
    (
        r"(?:verif(?:y|ying)|confirm|checking|(?:make|making) sure)(?: that)? you(?: are|'re) (?:a )?"
        "(?:human|not a (?:ro)?bot)"
    ),
    "checking (?:if the site connection is secure|your browser before)",
    "pardon our interruption",
    "made us think (?:that )?you (?:were|are) a bot",
    "we're verifying your browser",
    "one more step",
    "please complete the (?:security )?check",
    "unusual traffic from your",
    "are you a (?:ro)?bot",
    "(?:ro)?bot or human",
    "(?:press|activate) (?:&|and) hold",
    "enter the characters you see below",
    "human verification",
    "security check(?:point)?",
    "establishing a secure connection",
    "just a moment",
    "solve this captcha",
    "a required part of this site couldn't load",
    "^client challenge$",
    "enable js and disable any ad blocker",
    "bestätigen sie, dass sie ein mensch sind",
    "vérifi(?:ez|er|ons) que vous êtes (?:un )?humain",
    "verifi(?:ca|que) que (?:eres|es usted|você é) (?:un |um )?humano",
    "запросы с вашего устройства похожи на автоматические",
    "请稍候",
    "正在验证您是否是真人",
)
CHALLENGE_HEADLINES: Final = headline(
    "performing security verification",
    (
        r"(?:(?:please )?(?:verify|confirm)|verifying|checking|(?:make|making) sure)(?: that)? you(?: are|'re) (?:a )?"
        "(?:human|not a (?:ro)?bot)"
    ),
    "checking your browser before accessing .{3,80}",
    "we're verifying your browser",
    "vercel security checkpoint",
)
"""Nothing but a check of its visitor is headed so."""
CHALLENGE_VENDORS: Final = any_of(
    r"\bray id\b",
    "performance (?:and|&) security by",
    "ddos protection by",
    "reference (?:id|#)",
    "incident id",
    "as you were browsing",
)
MOUNT_IDS: Final = frozenset(
    [
        "root",
        "app",
        "__next",
        "__nuxt",
        "___gatsby",
        "svelte",
        "main-app",
        "react-root",
        "application",
        "q-app",
        "app-root",
        "gatsby-focus-wrapper",
        "vue-app",
        "spa",
        "ember-app",
    ]
)
"""Ids of the elements that frameworks write a page into."""
MOUNT_TAGS: Final = re.compile(r"app|app-root|[a-z]+-(?:app|root)")
SHELL_WORDS: Final = any_of(
    "(?:please |you (?:need|have) to |must )(?:enable|turn on|activate|allow) (?:\\w+ ){0,3}javascript",
    "enable javascript (?:\\w+ ){0,4}to (?:run|view|continue|use|see|proceed)",
    "(?:app|application|site|website|page|content) (?:\\w+ ){0,2}requires javascript",
    "work(?: \\w+)? without javascript",
    "javascript is (?:required|disabled|not enabled|not available)",
    "javascript (?:muss|aktivier)|bitte (?:aktivieren sie )?javascript",
    "veuillez activer javascript|habilite? javascript",
)
WAITING: Final = re.compile(
    r"^(?:loading|please wait|one moment|just a (?:moment|sec\w*)|initiali[sz]ing|starting"
    r"|redirecting|you are being redirected|lädt|wird geladen|bitte warten|chargement|cargando|caricamento|carregando"
    r"|laden|wczytywanie|ładowanie|laddar|загрузка|yükleniyor|読み込み中|加载中|載入中|로딩|جار)"
)
SCRIPT_REDIRECT: Final = re.compile(
    r"(?:window|document|self|top)\.location(?:\.href|\.replace|\.assign)?\s*(?:=|\()\s*[\"']", re.IGNORECASE
)
REDIRECT_WORDS: Final = any_of("redirect", "moved", "weitergeleitet", "weiterleitung", "rediri")
