"""Signs by which pages that are no content are known: vendors' marks, and the words such pages are headed with.

A vendor's mark is found where only the vendor writes it (headers, scripts, attributes); words only in titles,
headings and nearly empty pages, in lower case and with straight apostrophes. `core.page_state` decides what
they mean together.
"""

# ruff: noqa: RUF001 - words of many languages

from __future__ import annotations

import re
from typing import Final


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


CHALLENGE_HEADERS: Final = (
    ("cf-mitigated", _any("challenge")),
    ("x-vercel-mitigated", _any("challenge")),
    ("x-amzn-waf-action", _any("challenge", "captcha")),
    ("cdn-challenge", _any("")),
    ("x-datadome-response", _any("challenge", "captcha", "block")),
)
CHALLENGE_MARKS: Final = _any(
    "_cf_chl_opt",
    "cf-browser-verification",
    "cf_chl_prog",
    r"""challenge-platform/[^"'\s]{0,200}chl_page""",
    r"""id=["']?challenge-form""",
    "/_Incapsula_Resource",
    "sec-if-cpt-container",
    "sec-cpt-if",
    r"window\.KPSDK",
    r"""id=["']?px-captcha""",
    r"captcha\.px-c",
    "_pxAppId",
    r"captcha-delivery\.com",
    "sucuri_cloudproxy_js",
    r"/\.bunny-shield/",
    "AwsWafIntegration",
    "gokuProps",
    "/errors/validateCaptcha",
    r"vercel\.link/security-checkpoint",
    "distil_r_captcha",
    "/__ddg",
    "anubis_challenge",
    r"/\.within\.website/x/cmd/anubis",
)
CAPTCHA_MARKS: Final = _any("cf-turnstile", "g-recaptcha", "h-captcha", r"hcaptcha\.com", "smartcaptcha", "geetest")
CHALLENGE_WORDS: Final = _any(
    "performing security verification",
    r"verif(?:y|ying) (?:that )?you(?: are|'re) (?:a )?(?:human|not a (?:ro)?bot)",
    "checking (?:if the site connection is secure|your browser before)",
    "pardon our interruption",
    "made us think you were a bot",
    "make sure you're not a robot",
    "we're verifying your browser",
    "one more step",
    "please complete the security check",
    "unusual traffic from your",
    "are you a robot",
    "press (?:&|and) hold to confirm",
    "enter the characters you see below",
    "human verification",
    "security checkpoint",
    "establishing a secure connection",
    "just a moment",
)
CHALLENGE_VENDORS: Final = _any(
    "ray id",
    "performance (?:and|&) security by",
    "cloudflare",
    "imperva",
    "incapsula",
    "akamai",
    "datadome",
    "perimeterx",
    "captcha",
    "reference (?:id|#)",
    "as you were browsing",
)
BLOCKED_WORDS: Final = _any(
    r"the requested url was rejected\. please consult",
    "(?:content|service|page|site|video)s? (?:is|are) (?:currently )?(?:not available|unavailable) in your"
    " (?:country|region|location)",
    "sorry, you have been blocked",
    "access (?:to this page has been )?denied",
    "request blocked",
    "your (?:ip|access) (?:address )?has been (?:blocked|banned)",
    "error 1020",
)
RATE_WORDS: Final = _any("rate limit(?:ed| exceeded)", "too many requests", "slow down")
UNAVAILABLE_WORDS: Final = _any(
    "briefly unavailable for scheduled maintenance",
    "error establishing a database connection",
    "(?:under|undergoing|down for) maintenance",
    "service (?:temporarily )?unavailable",
    "temporarily (?:unavailable|down|offline)",
    "we'll be (?:right )?back",
    "50[0234] (?:bad gateway|service|gateway|internal)",
    "^internal server error",
    "^bad gateway",
    "wartungsarbeiten",
    "site en maintenance",
)
PARKED_WORDS: Final = _any(
    "(?:this |the )?domain (?:name )?(?:is |may be )?(?:for sale|parked)",
    "buy this domain",
    "account (?:has been )?suspended",
    "welcome to nginx",
    r"apache2? (?:\w+ )?default page",
    "^it works!$",
    "iis windows server",
    "test page for the",
    "future home of something",
    "^website coming soon",
    "default web ?site page",
    "domain has expired",
)
PARKED_MARKS: Final = _any(
    "sedoparking",
    "parkingcrew",
    r"bodis\.com",
    "parklogic",
    r"hugedomains\.com",
    r"afternic\.com",
    "cgi-sys/suspendedpage",
)
CONSENT_HOSTS: Final = _any(r"(?:^|\.)consent\.", r"^guce\.")
CONSENT_WORDS: Final = _any(
    "we (?:value|respect|care about) your privacy",
    "your privacy (?:choices|matters)",
    "partners (?:store|access|process|use)",
    "before you continue",
    "bevor sie (?:fortfahren|zu)",
    "mit werbung (?:weiter|und tracking)",
    "we use cookies",
    "wir verwenden cookies",
    "consent to (?:the )?(?:use|cookies)",
)
CONSENT_ACTIONS: Final = _any(
    "accept", "agree", "consent", "akzeptier", "zustimm", "ablehn", "aceptar", "accetta", "godkänn", "reject all"
)
AGE_WORDS: Final = _any(
    "age verification",
    "(?:are you|you must be|i am|over|at least) (?:over |of legal |at least )?"
    "(?:1[68]|21|drinking age|legal drinking age|legal age)",
    "altersprüfung",
    "sind sie (?:über )?(?:16|18)",
    "of legal (?:drinking )?age",
)
LOGIN_HOSTS: Final = _any(
    r"^(?:login|signin|auth|sso|accounts?|id|idp)\.", r"\.okta\.com$", r"\.auth0\.com$", r"\.onelogin\.com$"
)
LOGIN_PATH: Final = re.compile(
    r"/(?:log-?in|sign-?in|auth|sso|users/sign_in|account/login|wp-login\.php|oauth2?)(?:[/.?]|$)", re.IGNORECASE
)
LOGIN_WORDS: Final = re.compile(
    r"^(?:(?:please )?(?:log|sign)[ -]?in|login|members? (?:area|login)|anmelden|anmeldung|einloggen|(?:se )?connexion"
    r"|se connecter|connectez-vous|iniciar sesión|inicia sesión|acced[ei]|accesso|entrar|fazer login|inloggen|aanmelden"
    r"|logga in|log ind|logg inn|kirjaudu(?: sisään)?|zaloguj(?: się)?|logowanie|přihlášení|přihlásit se|вход|войти"
    r"|авторизация|giriş(?: yap)?|oturum aç|ログイン|サインイン|登录|登錄|登入|로그인)\b"
)
PAYWALL_MARKS: Final = re.compile(
    r"""class=["'][^"']{0,500}(?:paywall|offer-page|subscription-wall|regwall|metered-content|piano-|premium-teaser"""
    r"""|locked-content)|"isAccessibleForFree"\s*:\s*"?false""",
    re.IGNORECASE,
)
PAYWALL_WORDS: Final = _any(
    "member-only story",
    r"available to \w+ members only",
    "subscribe to (?:continue|read|keep reading|unlock)",
    "to (?:continue|keep) reading",
    "already a subscriber",
    "subscribers? only",
    "unlock this (?:story|article)",
    "create (?:a|your) free account to",
    "(?:jetzt|hier|artikel) weiterlesen",
    "mit (?:dem )?(?:digital-?abo|plus|abo)",
    "nur für abonnenten",
    "réservé aux abonnés",
    "solo para suscriptores",
    "contenuto riservato agli abbonati",
    "exclusivo para assinantes",
    "alleen voor abonnees",
)
SHELL_MOUNTS: Final = re.compile(
    r"""<(?:div|main|section)[^>]{0,300}\bid=["']?(?:root|app|__next|__nuxt|___gatsby|svelte|main-app|react-root|application"""
    r"""|ember\d*)["'\s>]|<app-root|<div[^>]{0,300}\bng-app|data-reactroot|/_app/(?:immutable/)?(?:entry/)?start"""
    r"""|<script[^>]{1,300}type=["']?module""",
    re.IGNORECASE,
)
SHELL_WORDS: Final = _any(
    r"(?:enable|requires?|turn on|activate|need|without) (?:\w+ ){0,3}javascript",
    "javascript (?:is |must be )?(?:required|disabled|enabled|not enabled|aktivier)",
    r"^loading[\s.…]*$",
    "bitte (?:aktivieren sie )?javascript",
)
SCRIPT_REDIRECT: Final = re.compile(
    r"(?:window|document|self|top)\.location(?:\.href|\.replace|\.assign)?\s*(?:=|\()\s*[\"']", re.IGNORECASE
)

_THING: Final = (
    "(?:(?:web)?page|site|url|address|document|file|content|article|product|item|listing|resource|link|post|story|entry"
    "|job(?: posting| listing| ad)?|position|event|offer|vacancy)"
)
_EXCLAMATIONS: Final = r"^(?:(?:oops|sorry|uh[- ]?oh|hmm+|whoops|oh no|error)[\s,.!:;—–-]*)*"
_NOT_FOUND: Final = (
    rf"(?:http |error |code )*40[4]\b(?:[\s:,.|—–-]*(?:error|{_THING}? ?not found|{_THING}|oops.*))?",
    rf"(?:{_THING} ?)?not found",
    (
        rf"(?:this |that |the |requested |your )*{_THING} (?:you .{{3,40}} )?"
        r"(?:(?:(?:was|is|could|can|does)? ?not|(?:was|is|could|does)n't|can't) (?:be )?(?:found|available|exist)"
        r"|(?:is |are )?no longer (?:available|exists?|active)|isn't (?:here|available)|missing"
        r"|(?:has|have) (?:been (?:removed|deleted|moved|discontinued|filled)|expired|moved))"
    ),
    "(?:we )?(?:can(?:no|')?t|could(?:n't| not)|(?:are|were) unable to) find (?:that|the|this|what|your) ?.{0,40}",
    "nothing (?:here|found|was found)",
    "no (?:results|matches|products|posts|documents|pages)(?: were)? found",
    "(?:die )?seite (?:wurde )?nicht gefunden",
    "(?:die )?seite (?:existiert nicht|konnte nicht gefunden werden|ist nicht verfügbar)",
    "nicht gefunden",
    "página no encontrada",
    "no se (?:ha )?encontr(?:ó|ado) la página",
    "página não (?:encontrada|existe)",
    "page (?:non trouvée|introuvable)",
    "cette page n'existe pas",
    "pagina non trovata",
    "pagina (?:werd )?niet gevonden",
    "pagina nu a fost găsită",
    "sidan (?:kunde inte hittas|hittades inte|finns inte)",
    "siden (?:blev )?ikke (?:fundet|funnet)",
    "siden (?:findes|finnes) ikke",
    "sivua ei (?:löytynyt|löydy)",
    "nie znaleziono(?: strony)?",
    "strona nie (?:została znaleziona|istnieje)",
    "stránka (?:nenalezena|nebyla nalezena|neexistuje|sa nenašla)",
    "страница не (?:найдена|существует)",
    "сторінк[ау] не знайдено",
    "sayfa bulunamadı",
    "az oldal nem található",
    "η σελίδα δεν βρέθηκε",
    "ページが見つかりません(?:でした)?",
    "お探しのページは見つかりません.*",
    "(?:页面|網頁|网页|頁面)(?:未找到|不存在|找不到)",
    "(?:您|你)?访问的页面不存在",
    "找不到(?:页面|頁面|網頁|网页)",
    "페이지를 찾을 수 없습니다",
    "halaman tidak ditemukan",
    "không tìm thấy trang",
    "الصفحة غير موجودة",
    "הדף לא נמצא",
    "ไม่พบหน้า.*",
)
NOT_FOUND_HEADLINE: Final = re.compile(rf"{_EXCLAMATIONS}(?:{'|'.join(_NOT_FOUND)})[\s.!:?…]*$")
"""A whole headline that says so: "Peugeot 404 history" and "How to build a 404 page" do not."""
NOT_FOUND_SENTENCE: Final = _any(
    r"(?:page|url|address|document|file|content|product|link|article|resource)\b[^.!?]{0,50}?"
    r"(?:(?:was|could|can|is) ?not (?:be )?found|(?:does not|doesn't|no longer) exists?|(?:is )?no longer available"
    r"|(?:may|might|has|have) (?:have )?(?:been )?(?:moved|removed|deleted))",
    "(?:did not|didn't) match any (?:documents|results|products|pages)",
    "no longer accepting applications",
    "seite[^.!?]{0,40}(?:nicht gefunden|existiert nicht)",
    "page[^.!?]{0,40}n'existe p(?:as|lus)",
    "página[^.!?]{0,40}(?:no existe|não existe)",
    "pagina[^.!?]{0,40}(?:non esiste|bestaat niet)",
)
