"""Words and marks of walls and of trouble: refusals, limits, outages, parked domains, consent, age, logins, paywalls.

As in `core.page_signs`, whose other half this is; `core.page_state` decides what they mean together.
"""

# ruff: noqa: RUF001 - words of many languages

from __future__ import annotations

import re
from typing import Final

from kb_pipeline.core.page_signs import any_of, headline, marks

BLOCKED_HEADLINES: Final = headline(
    r"the requested url was rejected\. please consult.*",
    "the requested url was rejected",
    (
        "(?:this |the )?(?:content|service|page|site|website|video|article)s? (?:is|are) (?:currently )?"
        "(?:not available|unavailable) in your (?:country|region|location|area)"
    ),
    "(?:unavailable|not available) in your (?:country|region|location|area)",
    "(?:sorry, )?you have been blocked",
    "access (?:to this page has been )?denied",
    "request (?:blocked|unsuccessful)",
    "your access to .{3,40} has been limited.{0,40}",
    "(?:web)?site blocked",
    "access to this (?:web)?(?:site|page) (?:is|has been) blocked.{0,60}",
    "not acceptable",
    "(?:40[13] ?[-–:]? ?)?forbidden",
    "your (?:ip|access) (?:address )?has been (?:blocked|banned)",
    "error 1020",
    "zugriff verweigert",
    "accès refusé",
    "acceso denegado",
    "accesso negato",
    "toegang geweigerd",
    "доступ запрещ[её]н",
)
BLOCKED_BENEATH: Final = any_of(
    r"reference #",
    "you don't have permission to access",
    "mod_security|wordfence|representation of the requested resource",
    "you (?:do not|don't) have (?:permission|access)",
    "you are (?:unable|not allowed|not authorized)",
    "(?:we're |we are )?sorry",
    "your (?:ip|country|region|location|request|access)",
    "(?:contact|consult)(?: with)? (?:the |your )?(?:owner|administrator|site|website)",
    "support id|block id|incident id|ray id",
    "security service to protect",
)
RATE_HEADLINES: Final = headline(
    "(?:api )?rate limit(?:ed| exceeded| reached)",
    "(?:429 ?[-–:]? ?|http )?too many requests",
    "you(?:'ve| have) (?:made|sent) too many requests",
    "you are being rate limited",
    "you(?:'ve| have) (?:been rate limited|exceeded a .{0,20}rate limit.*)",
    "error 1015",
    "whoa there.{0,20}",
    "zu viele anfragen",
    "trop de requêtes",
    "demasiadas (?:solicitudes|peticiones)",
    "too many requests from .*",
)
RATE_BENEATH: Final = any_of(
    "banned you temporarily",
    "you(?:'ve| have)? (?:have )?(?:sent|made|exceeded|reached|been)",
    "your (?:ip|request|network|account|computer)",
    "try again",
    "please (?:wait|slow|try)",
    "slow down",
)
UNAVAILABLE_HEADLINES: Final = headline(
    "briefly unavailable for scheduled maintenance.*",
    "error establishing a database connection",
    (
        "(?:(?:the |this |our )?(?:web)?site (?:is )?)?(?:we are )?(?:currently )?"
        "(?:under|undergoing|down for|in) (?:scheduled )?maintenance"
    ),
    "(?:50[0234] ?[-–:]? ?)?service (?:is )?(?:temporarily )?unavailable",
    (
        "(?:the |this |our )?(?:(?:web)?site|page|service|server) (?:is )?(?:temporarily|currently) "
        "(?:unavailable|down|offline)"
    ),
    "we'll be (?:right )?back(?: soon| shortly)?",
    "50[0234](?: ?[-–:]? ?(?:error|bad gateway|gateway time-?out|internal server error))?",
    "(?:http )?(?:error )?50[0234].{0,40}",
    "(?:internal )?server error",
    "bad gateway(?: error code 502)?",
    "an (?:unexpected )?error (?:has )?occurred",
    "application error",
    "(?:we are |we're )?(?:experiencing |having )?technical (?:difficulties|problems)",
    "wir sind (?:gleich|bald|in kürze) (?:wieder )?(?:zurück|für sie da)",
    "(?:le |ce )?(?:site|service) (?:est )?(?:temporairement|momentanément) indisponible",
    "(?:sitio|servicio) (?:temporalmente )?no disponible|servizio non disponibile",
    "(?:wegen )?wartungsarbeiten|wartungsmodus",
    "site en maintenance|maintenance en cours",
    "(?:sitio )?en mantenimiento|em manutenção|(?:sito )?in manutenzione",
    "(?:de site is )?in onderhoud",
    "технические работы|ведутся технические работы",
    "メンテナンス中(?:です)?|系统维护中?|网站维护中?",
)
UNAVAILABLE_HINTS: Final = headline(
    "(?:scheduled |site |website )?maintenance(?: mode)?", "database error", "something went wrong"
)
"""Headlines of other pages too: what stands beneath has to say the same."""
UNAVAILABLE_BENEATH: Final = any_of(
    "try again",
    "(?:check|come) back",
    "be (?:right )?back",
    "sorry|apologi[sz]e|inconvenience",
    "please (?:wait|contact|try|check)",
    "at the moment|performing (?:some |scheduled )?maintenance",
    "unable to complete your request|encountered an internal error",
    "could not be served|what happened|réessayer|inténtelo|intente|riprova",
    "in kürze|gewartet|wartung|bald wieder|wieder für sie da|entschuldig",
    "bientôt|désolé|pronto|volvemos|a breve|binnenkort|скоро|しばらく|稍后",
)
PARKED_HEADLINES: Final = headline(
    r"(?:[\w-]+\.)+\w{2,} (?:is |may be )?(?:for sale|parked|available for purchase).{0,40}",
    r"(?:this |the )domain (?:name )?(?:[\w.-]+ )?(?:is|may be) (?:for sale|parked|available for purchase).{0,40}",
    "buy this domain",
    r"this domain was recently registered.{0,60}|[\w.-]+ (?:-|–) registered at .{3,40}",
    "(?:this |your )?(?:account|website|site) (?:has been )?suspended",
    "welcome to (?:nginx|openresty|caddy|apache)",
    r"(?:apache2? )?(?:\w+ )?default page(?:: it works)?|apache2? (?:\w+ )?default page.*",
    "iis windows server|internet information services",
    "test page for the .{3,60}|http server test page.*",
    "website expired",
    "looks like this domain isn't connected to a website yet",
    "future home of something.{0,40}",
    "web server's default page|default web ?site page",
    "(?:this |the )?domain (?:[\\w.-]+ )?(?:has )?expired",
    "diese domain (?:ist|steht) .{0,30}(?:verkauf|geparkt|registriert).{0,30}|hier entsteht .{3,60}",
)
PARKED_HINTS: Final = headline(
    "(?:(?:our |this |the )?(?:new )?(?:web)?site (?:is )?)?(?:coming|opening|launching) soon",
    "(?:(?:our |this |the )?(?:new )?(?:web)?site (?:is )?)?under construction",
    "it works",
    "there's nothing here, yet",
)
PARKED_BENEATH: Final = any_of(
    r"buy (?:this domain|now)|(?:get|price|offer).{0,30}domain|related searches",
    "hosting provider|has been suspended",
    "(?:web ?server|http server|apache2? server|nginx).{0,60}(?:installed|working|installation|operation)",
    "further configuration is required|generated by plesk|no web site at this address",
    "be the first to know|we launch|build something|connect it to your website",
    "if you (?:are the|own)|renew|registrar|registered at|check back later",
    "coming soon",
)
PARKED_MARKS: Final = marks(
    "sedoparking",
    "parkingcrew",
    r"bodis\.com",
    "parklogic",
    r"hugedomains\.com/domain_profile",
    r"afternic\.com",
    "cgi-sys/suspendedpage",
    "parking-lander",
    "d38psrni17bvxu",
    r"location(?:\.href)?\s*=\s*[\"']/lander[\"']",
)
PARKED_WORDS: Final = any_of(
    "for sale", "available for purchase", "parked", "(?:buy|get) this domain", "related searches", "registered at"
)
CONSENT_HOSTS: Final = any_of(r"(?:^|\.)consent\.", r"^guce\.")
CONSENT_WORDS: Final = any_of(
    "(?:we|wir|nous) (?:value|respect|care about|respectons) (?:your privacy|votre vie privée)",
    "your privacy (?:choices|matters)",
    "partners (?:store|access|process|use)",
    "before you continue",
    "bevor sie (?:fortfahren|zu)",
    "mit werbung (?:weiter|und tracking)",
    "(?:we|wij|we also) (?:use|gebruiken) cookies",
    "wir (?:verwenden|nutzen) cookies",
    "consent to (?:the )?(?:use|cookies)",
    "allow the use of cookies",
    "(?:nous|partenaires) .{0,40}utilisons des cookies|avant de continuer",
    "(?:usamos|utilizamos) cookies|utilizan? cookies|valoramos (?:tu|su) privacidad|antes de continuar",
    "utilizziamo (?:i )?cookie|prima di continuare",
    "voordat (?:je|u) verdergaat|(?:je|uw) privacy is belangrijk",
    "(?:używamy|używają) plików cookie|szanujemy twoją prywatność|cenimy (?:twoją|państwa) prywatność",
    "vi (?:använder|bruger|bruker) (?:cookies|informasjonskapsler)|käytämme evästeitä",
    "používáme (?:soubory )?cookies?|vážíme si vašeho soukromí",
    "мы используем (?:файлы )?cookie|çerez(?:leri)? kullan",
)
CONSENT_ACTIONS: Final = any_of(
    r"\baccept",
    r"\bi? ?agree\b",
    "^i consent",
    "akzeptier",
    "zustimm",
    "ablehn",
    "aceptar",
    "accett",
    "godkänn",
    "^allow(?: all)?(?: cookies)?$",
    "reject all|accepter|aceitar|accepteren|akkoord|zgadzam|akceptuj|hyväksy|souhlas|přijmout|принять|kabul et|同意",
)
AGE_WORDS: Final = any_of(
    "^age (?:verification|check|gate)$",
    r"are you (?:over|at least|older than|of) (?:the age of |legal )?(?:1[68]|2[01]|drinking age|legal age|age)",
    (
        "you must be (?:over |at least |of )?(?:the age of )?(?:(?:legal|drinking) )*(?:1[68]|2[01]|age)(?: years)?"
        "(?: or (?:over|older))?[^.!?]{0,20} to (?:enter|view|access|visit|continue)"
    ),
    "enter your (?:date of birth|birth ?date|age)",
    "altersprüfung|sind sie (?:über |mindestens )?(?:16|18)",
    "avez-vous (?:l'âge légal|plus de 1[68])|vous devez avoir [^.!?]{0,20}1[68] ans",
    "(?:eres|tienes|es usted) (?:mayor de|más de) (?:edad|18)|sei maggiorenne",
    "ben je (?:18|ouder)|czy masz (?:ukończone )?18",
)
AGE_ACTIONS: Final = any_of(r"\b(?:yes|no|enter|exit|leave|confirm|i am|i'm|ja|nein|oui|non|sí|sì|tak|nie|nee|18\+?)\b")
LOGIN_HOSTS: Final = any_of(
    r"^(?:login|signin|auth|sso|accounts?|id|idp)\.", r"\.okta\.com$", r"\.auth0\.com$", r"\.onelogin\.com$"
)
LOGIN_PATH: Final = re.compile(
    r"/(?:log-?in|sign-?in|auth|sso|users/sign_in|account/login|wp-login\.php|oauth2?)(?:[/.?]|$)", re.IGNORECASE
)
LOGIN_WORDS: Final = re.compile(
    r"^(?:(?:please )?(?:log|sign)[ -]?(?:in|on)|login|members? (?:area|login)|anmelden|anmeldung|einloggen"
    r"|(?:se )?connexion"
    r"|se connecter|connectez-vous|iniciar sesión|inicia sesión|acced[ei]|accesso|entrar|fazer login|inloggen|aanmelden"
    r"|logga in|log ind|logg inn|kirjaudu(?: sisään)?|zaloguj(?: się)?|logowanie|přihlášení|přihlásit se|вход|войти"
    r"|авторизация|giriş(?: yap)?|oturum aç|ログイン|サインイン|登录|登錄|登入|로그인)\b"
)
LOGIN_ACTIONS: Final = any_of("(?:continue|sign in|log in|weiter|anmelden) (?:with|mit) (?:\\w+)")
LOGIN_REQUEST: Final = any_of("please (?:log|sign) in to (?:view|see|access|read|continue)")
LOGIN_SENTENCE: Final = any_of(
    "you (?:must|need to|have to) (?:be logged in|be signed in|log ?in|sign in)[^.!?]{0,20} to"
    " (?:view|see|access|read|use) (?:this|the) (?:page|content|forum|topic|resource|document|area|section)",
    "please (?:log|sign) in to (?:view|see|access|read|continue)",
    "you are not logged in or you do not have permission",
)
PAYWALL_MARKS: Final = re.compile(
    r"""class=["'][^"']{0,500}(?:paywall|offer-page|subscription-wall|regwall|metered-content|piano-|premium-teaser"""
    r"""|locked-content)|"isAccessibleForFree"\s*:\s*"?false""",
    re.IGNORECASE,
)
PAID_MARK: Final = marks(r""""isAccessibleForFree"\s*:\s*"?false""")
PAYWALL_WORDS: Final = any_of(
    "member-only story",
    r"available to \w+ members only",
    "(?:^|[.!?…:] )(?:please )?subscribe(?: now| today)? to (?:continue|read|keep reading|unlock)",
    "(?:^|[.!?…:] )to (?:continue|keep) reading,",
    "you(?:'ve| have) (?:reached|read|used)[^.!?]{0,40}free articles",
    "(?:article|story|content)[^.!?]{0,20} for subscribers only",
    "unlock this (?:story|article)",
    "create (?:a|your) free account (?:or log in )?to (?:continue|read|keep)",
    "^to read the full (?:story|article)",
    "suscríbete para (?:seguir|continuar|leer)|assine para (?:continuar|ler)|abbonati per (?:continuare|leggere)",
    "会員限定|有料会員|订阅后|訂閱後",
    "(?:jetzt|hier|artikel) weiterlesen",
    "mit (?:dem )?(?:digital-?abo|plus|abo)",
    "nur für abonnenten",
    "réservée?s? (?:aux|à nos) abonnés",
    "(?:solo|exclusivo) para suscriptores",
    "contenuto riservato agli abbonati",
    "exclusivo para assinantes",
    "alleen voor abonnees",
    "tylko dla (?:prenumeratorów|subskrybentów)",
)
OFFER_WORDS: Final = any_of(
    "already a subscriber",
    "subscribers? only",
    "to (?:continue|keep) reading",
    "subscribe to",
    "to read the full (?:story|article)",
)
"""Say enough beside a mark only."""
