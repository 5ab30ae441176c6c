"""Pages that are content, each of a kind that a careless reader takes for a wall or an error: (what it is, HTML, path).

Written for these tests; `framed` puts a site's navigation and footer around a body, as real pages have them.
"""

# ruff: noqa: E501 - each page on one line

from __future__ import annotations

NAV = (
    "<header><nav><a href=/>Home</a> <a href=/docs>Docs</a> <a href=/pricing>Pricing</a> <a href=/blog>Blog</a>"
    " <a href=/login>Log in</a></nav></header>"
)
FOOTER = "<footer><p>© 2026 Aldermere Ltd.</p><a href=/privacy>Privacy</a> <a href=/terms>Terms</a></footer>"


def framed(title: str, body: str, *, head: str = "", scripts: str = "") -> str:
    """A whole page of a site."""
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>{head}</head>"
        f"<body>{NAV}<main>{body}</main>{FOOTER}{scripts}</body></html>"
    )


ARTICLE = "".join(
    f"<p>{sentence}</p>"
    for sentence in (
        "The committee that looked after the harbour met every second Tuesday and kept its minutes in a green ledger.",
        "In the spring of 1911 it decided to rebuild the western mole with larger stones from the quarry at Penmore.",
        "The work took four summers, because the barges could only be loaded at high water and in calm weather.",
        "Two of the cranes still stand; the third was sold to a shipyard further along the coast and never came back.",
        "Visitors can walk out to the light on the end, where a plate names the eleven people who laid the last stone.",
    )
)
LONG = ARTICLE * 3

GLOSSARY = (
    (
        "glossary: 404",
        framed(
            "404 Not Found | Web glossary",
            "<h1>404 Not Found</h1><p>A status code of HTTP. The server understood the request and has no document under that name. It does not tell whether this is for ever, for which 410 Gone was made.</p>",
        ),
        "/glossary/404",
    ),
    (
        "glossary: 403",
        framed(
            "403 Forbidden - Glossary",
            "<h1>403 Forbidden</h1><p>An HTTP status code: the server knows who asks, and will not hand the document over. Signing in again changes nothing, unlike with 401.</p>",
        ),
        "/glossary/403",
    ),
    (
        "glossary: 429",
        framed(
            "429 Too Many Requests | HTTP codes",
            "<h1>Too Many Requests</h1><p>The client has sent more requests than the server lets through in a span of time. The header Retry-After may carry the number of seconds to wait.</p>",
        ),
        "/codes/429",
    ),
    (
        "glossary: 503",
        framed(
            "503 Service Unavailable | HTTP codes",
            "<h1>Service Unavailable</h1><p>Returned while a server is being restarted or has more work than it can do. Crawlers treat it as temporary and come back.</p>",
        ),
        "/codes/503",
    ),
    (
        "glossary: CAPTCHA",
        framed(
            "CAPTCHA | Glossary",
            "<h1>CAPTCHA</h1><p>A puzzle that people solve and programs are meant to fail at: distorted letters, pictures with traffic lights, or a box to tick. The name is from the year 2000.</p>",
        ),
        "/glossary/captcha",
    ),
    (
        "glossary: paywall",
        framed(
            "Paywall | Media terms",
            "<h1>Paywall</h1><p>Readers see the beginning of an article and are asked to subscribe to continue reading. A metered one lets a few articles a month through.</p>",
        ),
        "/terms/paywall",
    ),
    (
        "glossary: soft 404",
        framed(
            "Soft 404",
            "<h1>Soft 404</h1><p>A page that says that nothing was found while the status says 200. Search engines guess at it from the wording of the page.</p>",
        ),
        "/glossary/soft-404",
    ),
    (
        "glossary: robot check",
        framed(
            "Just a moment | Bot terms",
            "<h1>Just a moment</h1><p>The title of the interstitial that Cloudflare shows before it lets a visitor through. It disappears by itself after some seconds.</p>",
        ),
        "/terms/just-a-moment",
    ),
    (
        "glossary: cookie wall",
        framed(
            "Cookie wall",
            "<h1>Cookie wall</h1><p>A banner that hides a site until its cookies are accepted. Data protection authorities of several countries hold that consent given so is not free.</p>",
        ),
        "/terms/cookie-wall",
    ),
    (
        "glossary: parked",
        framed(
            "Parked domain",
            "<h1>Parked domain</h1><p>A name that was registered and shows advertisements instead of a site, often with the words that this domain is for sale.</p>",
        ),
        "/terms/parked",
    ),
)

SHORT_DOCS = (
    (
        "docs: not found errors",
        framed(
            "Not found errors | Queue API",
            "<h1>Not found errors</h1><p>The endpoint answers 404 when no queue has the name that was given. Create the queue first, or turn on auto-create in the settings of the workspace.</p>",
        ),
        "/docs/not-found",
    ),
    (
        "docs: page not found",
        framed(
            "Page not found | Help",
            "<h1>Page not found</h1><p>This message means that the address was typed wrong or that somebody renamed the board. Boards keep their old names for thirty days; ask an administrator for the present one after that.</p>",
        ),
        "/help/page-not-found",
    ),
    (
        "docs: rate limits",
        framed(
            "Rate limits",
            "<h1>Rate limit exceeded</h1><p>The API lets 60 calls a minute through for each key. Above that it answers with 429 and the code rate_limit, and the library waits for the seconds in Retry-After.</p>",
        ),
        "/docs/rate-limits",
    ),
    (
        "docs: access denied",
        framed(
            "Access denied | Storage docs",
            "<h1>Access denied</h1><p>The role of the key lacks s3:GetObject on the bucket. Add the permission to the policy and wait a minute for it to spread before the call is repeated.</p>",
        ),
        "/docs/access-denied",
    ),
    (
        "docs: sign in",
        framed(
            "Sign in | User guide",
            "<h1>Sign in</h1><ol><li>Open the app and tap Account.</li><li>Enter the address that the invitation was sent to.</li><li>Type the code from the e-mail. It is valid for ten minutes.</li></ol>",
        ),
        "/guide/sign-in",
    ),
    (
        "docs: login with a field shown",
        framed(
            "Login",
            "<h1>Login</h1><p>The component draws a form with two fields and a button. Pass onSubmit to take the values, and error to show a message beneath.</p><pre>&lt;Login onSubmit={save} /&gt;</pre><div class=example><input type=text><input type=password><button>Send</button></div>"
            + ARTICLE,
        ),
        "/components/login",
    ),
    (
        "docs: single sign-on",
        framed(
            "Sign in with SSO | Admin",
            "<h1>Sign in with SSO</h1><p>Choose SAML in the security settings, paste the metadata address of the identity provider, and test it with one person before it is required for all.</p>",
        ),
        "/admin/sso",
    ),
    (
        "docs: password reset",
        framed(
            "Reset a password",
            "<h1>Reset a password</h1><p>Run the command with the name of the user. The new password is printed once and must be changed at the first login.</p><pre>app users reset NAME</pre>",
        ),
        "/docs/reset",
    ),
    (
        "docs: maintenance mode",
        framed(
            "Maintenance mode",
            "<h1>Maintenance mode</h1><p>Put a file named maintenance.html into the public folder and every request gets it with status 503 until it is deleted.</p>",
        ),
        "/docs/maintenance-mode",
    ),
    (
        "docs: error page template",
        framed(
            "Error page",
            "<h1>Error page</h1><p>The template error.html is used for 404 and 500. It gets two variables, status and message.</p><pre>&lt;h1&gt;Page not found&lt;/h1&gt;</pre>",
        ),
        "/docs/error-page",
    ),
    (
        "docs: captcha widget",
        framed(
            "Turnstile",
            "<h1>Turnstile</h1><p>Add the script and a div with the class cf-turnstile to the form. The token arrives as cf-turnstile-response.</p><pre>&lt;div class=cf-turnstile&gt;&lt;/div&gt;</pre>",
        ),
        "/docs/turnstile",
    ),
    (
        "docs: challenge markers",
        framed(
            "Known markers",
            "<h1>Known markers</h1><ul><li>window._cf_chl_opt</li><li>/_Incapsula_Resource</li><li>geo.captcha-delivery.com</li><li>px-captcha</li></ul><p>Grep the body for them before it is parsed.</p>",
        ),
        "/docs/markers",
    ),
    (
        "docs: status codes",
        framed(
            "Errors",
            "<h1>Errors</h1><h2>Not found</h2><p>No such item.</p><h2>Forbidden</h2><p>The key may not do this.</p><h2>Too many requests</h2><p>Wait for Retry-After.</p><h2>Service unavailable</h2><p>Come back later.</p>",
        ),
        "/docs/errors",
    ),
    (
        "docs: German 404",
        framed(
            "Seite nicht gefunden | Hilfe",
            "<h1>Seite nicht gefunden</h1><p>Diese Meldung bedeutet, dass der Eintrag umbenannt wurde. Im Archiv steht er unter seinem alten Namen, und der Verlauf zeigt, wer ihn umbenannt hat.</p>",
        ),
        "/hilfe/404",
    ),
    (
        "docs: JavaScript needed",
        framed(
            "Requirements",
            "<h1>Requirements</h1><p>The viewer needs JavaScript and WebGL. Without JavaScript a static picture of the model is shown, and the measurements below it stay readable.</p>",
            scripts="<script src=/a.js></script>",
        ),
        "/docs/requirements",
    ),
    (
        "docs: loading",
        framed(
            "Loading",
            "<h1>Loading</h1><p>Shows a spinner while its children wait for data.</p>",
            scripts="<script src=/a.js></script>",
        ),
        "/components/loading",
    ),
    (
        "docs: endpoint",
        framed(
            "GET /items/{id}",
            "<h1>GET /items/{id}</h1><p>Returns one item, or 404 if the item does not exist or was deleted.</p><table><tr><td>id<td>integer</table>",
        ),
        "/api/items",
    ),
    (
        "docs: age field",
        framed(
            "Age verification | API",
            "<h1>Age verification</h1><p>POST /checks with a date of birth returns adult: true for everybody over 18. Nothing of the document is stored.</p><button>Copy</button>",
        ),
        "/api/age",
    ),
)

SHORT_PAGES = (
    (
        "contact",
        framed(
            "Contact",
            "<h1>Contact</h1><p>Aldermere Ltd., 4 Quay Street, Penmore. Telephone 01632 960 010, weekdays from nine to five.</p>",
        ),
        "/contact",
    ),
    (
        "contact with reCAPTCHA",
        framed(
            "Contact us",
            "<h1>Contact us</h1><p>Write to us, we answer within a day.</p><form><input name=name><textarea></textarea><div class=g-recaptcha data-sitekey=x></div><button>Send</button></form>",
            scripts="<script src=https://www.google.com/recaptcha/api.js></script>",
        ),
        "/contact",
    ),
    (
        "contact with Turnstile",
        framed(
            "Contact us",
            "<h1>Contact us</h1><p>Write to us, we answer within a day.</p><form><input type=email><div class=cf-turnstile></div><button>Send</button></form>",
            scripts="<script src=https://challenges.cloudflare.com/turnstile/v0/api.js></script>",
        ),
        "/contact",
    ),
    (
        "changelog entry",
        framed(
            "Version 2.4.1",
            "<h1>Version 2.4.1</h1><ul><li>Fixed: the page could not be found after a folder was renamed.</li><li>Fixed: access denied for guests with a valid link.</li></ul>",
        ),
        "/changelog/2-4-1",
    ),
    (
        "changelog of rate limits",
        framed(
            "Release 8",
            "<h1>Release 8</h1><p>Exports no longer fail with too many requests. A file that was deleted is no longer available in the trash after 30 days.</p>",
        ),
        "/changelog/8",
    ),
    (
        "answer in one line",
        framed(
            "Do you deliver to Ireland?",
            "<h1>Do you deliver to Ireland?</h1><p>Yes, twice a week, for a flat 9 euros.</p>",
        ),
        "/faq/ireland",
    ),
    (
        "answer about age",
        framed(
            "How old must I be?",
            "<h1>How old must I be?</h1><p>You must be at least 18 to rent a boat; children may of course come along.</p><button>Book</button>",
        ),
        "/faq/age",
    ),
    (
        "headline with over 21",
        framed(
            "Over 21 walks along the coast",
            "<h1>Over 21 walks along the coast</h1><p>From half an hour to a whole day, each with a map.</p><button>Show map</button>",
        ),
        "/walks",
    ),
    (
        "opening hours",
        framed("Opening hours", "<h1>Opening hours</h1><p>Monday to Friday 9 to 17, Saturday 10 to 14.</p>"),
        "/hours",
    ),
    (
        "thanks",
        framed(
            "Thank you", "<h1>Thank you!</h1><p>Your message has been sent.</p>", scripts="<script src=/a.js></script>"
        ),
        "/thanks",
    ),
    (
        "thanks from a server-rendered app",
        "<html><head><title>Thank you</title></head><body><div id=__next><h1>Thank you!</h1><p>We got it.</p></div><script src=/_next/static/chunks/main.js></script></body></html>",
        "/thanks",
    ),
    (
        "server-rendered React",
        '<html><head><title>Hours</title></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"><h1>Hours</h1><p>Daily from nine.</p></div><script src=/static/js/main.js></script></body></html>',
        "/hours",
    ),
    (
        "server-rendered Nuxt",
        '<html><head><title>Team</title></head><body><div id="__nuxt"><div><h1>Team</h1><p>Ada, Grace and Edsger.</p></div></div><script type=module src=/_nuxt/entry.js></script></body></html>',
        "/team",
    ),
    (
        "server-rendered Angular",
        '<html><head><title>Price</title></head><body><app-root ng-version="18.0"><h1>Price</h1><p>12 euros a month.</p></app-root><script src=main.js type=module></script></body></html>',
        "/price",
    ),
    (
        "server-rendered Svelte",
        '<html><head><title>Note</title></head><body><div style="display: contents"><h1>Note</h1><p>Closed on Friday.</p></div><script>import("/_app/immutable/entry/start.js")</script></body></html>',
        "/note",
    ),
    (
        "cookie banner on top of a short page",
        "<html><head><title>Directions</title></head><body><div class=cookie-banner><p>We use cookies to make this site better.</p><button>Accept all</button><button>Reject all</button></div>"
        + NAV
        + "<main><h1>Directions</h1><p>Take the number 4 bus to Quay Street and walk down to the water; the red door is ours. Parking is behind the chapel, two pounds a day, coins only.</p></main></body></html>",
        "/directions",
    ),
    (
        "cookie policy",
        framed(
            "Cookies",
            "<h1>We use cookies</h1><p>One remembers the language, one the basket, and none of them is given to others. They are deleted when the browser is closed.</p><button>Change settings</button>",
        ),
        "/cookies",
    ),
    (
        "login box beside a short page",
        framed(
            "Regatta",
            "<h1>Regatta</h1><p>The boats start at ten on Saturday, the smallest first.</p><div class=modal><h4>Sign in</h4><form action=/login><input name=user><input type=password><button>Sign in</button></form></div>",
        ),
        "/regatta",
    ),
    (
        "newsletter box",
        framed(
            "Tide tables",
            "<h1>Tide tables</h1><p>High water at Penmore is 22 minutes after Dover.</p><form><h3>Subscribe</h3><input type=email><button>Subscribe</button></form>",
        ),
        "/tides",
    ),
    (
        "a film",
        framed(
            "Just a Moment (1934)",
            "<h1>Just a Moment</h1><p>Silent comedy, 61 minutes. A clerk misses his train nine times.</p>",
        ),
        "/films/just-a-moment",
    ),
    (
        "a song",
        framed(
            "Slow Down",
            "<h1>Slow Down</h1><p>Single, 1958. Written by Larry Wickham, later covered by everybody with a piano.</p>",
        ),
        "/songs/slow-down",
    ),
    (
        "a room",
        framed("Room 404", "<h1>Room 404</h1><p>Two beds, a view of the yard, 80 euros with breakfast.</p>"),
        "/rooms/404",
    ),
    (
        "a section that it works",
        framed(
            "Heat pump",
            "<h1>Heat pump</h1><h2>It works!</h2><p>Even at fifteen below zero, measured in four houses through two winters, the pump gave back three times what it took.</p>",
        ),
        "/pump",
    ),
    (
        "domain broker",
        framed(
            "Domains for sale",
            "<h1>Domains for sale</h1><p>penmore.example, quay.example and mole.example. Write to us with your offer; we use an escrow service.</p>",
        ),
        "/domains",
    ),
    (
        "maintenance of boats",
        framed(
            "Wartungsarbeiten an Booten",
            "<h1>Wartungsarbeiten an Booten</h1><p>Einmal im Jahr wird der Rumpf geschliffen, gestrichen und die Welle geprüft. Termine ab Oktober.</p>",
        ),
        "/wartung",
    ),
    (
        "one more step",
        framed(
            "One more step",
            "<h1>One more step</h1><p>Confirm the address in the e-mail that we have sent, and the membership begins.</p>",
        ),
        "/joined",
    ),
    (
        "members' area described",
        framed(
            "Members area",
            "<h1>Members area</h1><p>Members read the minutes, borrow tools and vote. It costs 20 euros a year.</p>",
        ),
        "/members",
    ),
    (
        "account suspended, a help text",
        framed(
            "Account suspended | Help",
            "<h1>Account suspended</h1><p>An account is suspended after three unpaid bills. It is opened again within the hour once the oldest of them is paid, and nothing that was stored is lost meanwhile.</p>",
        ),
        "/help/suspended",
    ),
    (
        "geo restriction, a help text",
        framed(
            "Not available in your country | Help",
            "<h1>Not available in your country</h1><p>Some films are licensed for a few countries only. The list under each title names them, and a film that was bought stays in the library when its owner travels.</p>",
        ),
        "/help/countries",
    ),
    (
        "empty of prose, full of links",
        framed(
            "All articles",
            "<ul>"
            + "".join(f"<li><a href=/a/{n}>Article number {n} of the archive</a></li>" for n in range(40))
            + "</ul>",
        ),
        "/archive",
    ),
    (
        "posts within noscript",
        "<html><head><title>First telescope?</title></head><body><div id=main-outlet></div><noscript>"
        + ARTICLE
        + "</noscript><script src=/app.js></script></body></html>",
        "/t/1",
    ),
    ("plain text", "Everything is fine. The lamp was lit at dusk.", "/status.txt"),
    (
        "under-age rules",
        framed(
            "Under 18s",
            "<h1>Under 18s</h1><p>Children sail with a parent. From sixteen on a letter will do.</p><button>Print</button>",
        ),
        "/rules",
    ),
)

PRODUCTS = (
    (
        "sold out",
        framed(
            "Oak stool",
            "<h1>Oak stool</h1><p>Sold out</p><p>45 cm high, oiled, holds 120 kg. 89 euros. This product is currently out of stock.</p><button>Notify me</button>",
        ),
        "/p/stool",
    ),
    (
        "no longer available",
        framed(
            "Oak bench",
            "<h1>Oak bench</h1><p>This product is no longer available.</p><p>Length 120 cm, oiled oak, made in Penmore from 2011 to 2019. Spare slats: part 4411.</p>",
        ),
        "/p/bench",
    ),
    (
        "no longer available as a second headline",
        framed(
            "Lamp 7 | Shop",
            "<h1>Lamp 7</h1><h2>This item is no longer available</h2><table><tr><td>Bulb<td>E27</tr><tr><td>Height<td>31 cm</tr></table><p>Replaced by Lamp 8.</p>",
        ),
        "/p/lamp-7",
    ),
    (
        "discontinued",
        framed(
            "Pump 3000",
            "<h1>Pump 3000</h1><p>The product has been discontinued. Manuals and seals are kept until 2031.</p><a href=/m.pdf>Manual</a>",
        ),
        "/p/pump",
    ),
    (
        "job closed",
        framed(
            "Boat builder (m/f/d)",
            "<h1>Boat builder (m/f/d)</h1><p>This position has been filled.</p><p>You plank hulls, fit keels and teach two apprentices. Full time, Penmore, from 38,000 euros.</p>",
        ),
        "/jobs/1",
    ),
    (
        "job no longer takes applications",
        framed(
            "Sail maker",
            "<h1>Sail maker</h1><p>No longer accepting applications.</p><p>Cut and sew sails up to 90 square metres. Part time.</p>",
        ),
        "/jobs/2",
    ),
    (
        "event in the past",
        framed(
            "Regatta 2019",
            "<h1>Regatta 2019</h1><p>This event has expired. 41 boats took part; Ines Alba won in the class up to seven metres.</p>",
        ),
        "/events/2019",
    ),
    (
        "temporarily unavailable",
        framed(
            "Rope, 12 mm", "<h1>Rope, 12 mm</h1><p>Temporarily unavailable. Three strands, 2,400 kg, by the metre.</p>"
        ),
        "/p/rope",
    ),
    (
        "not available where you are",
        framed(
            "Marine paint",
            "<h1>Marine paint</h1><p>Two-part, white. This product is not available in your region because of its solvents; see the water-based one.</p>",
        ),
        "/p/paint",
    ),
)

_VENDOR_SCRIPTS = (
    ("Cloudflare's beacon", "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"),
    ("Turnstile", "<script src='https://challenges.cloudflare.com/turnstile/v0/api.js' async></script>"),
    (
        "reCAPTCHA v3",
        "<script src='https://www.google.com/recaptcha/api.js?render=6Le'></script><div class='grecaptcha-badge'></div>",
    ),
    (
        "DataDome",
        "<script>window.ddjskey='A1';window.ddoptions={};</script><script src='https://js.datadome.co/tags.js'></script>",
    ),
    (
        "PerimeterX",
        "<script>window._pxAppId='PXabc';window._pxJsClientSrc='/abc/init.js';</script><script src='https://client.px-cloud.net/PXabc/main.min.js'></script>",
    ),
    ("Akamai", "<script src='/akam/13/5f3a' defer></script><noscript><img src='/akam/13/pixel_5f3a'></noscript>"),
    ("Imperva", "<script src='/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3&ns=2' async></script>"),
    (
        "Kasada",
        "<script src='/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/p.js'></script><script>window.KPSDK={};</script>",
    ),
    (
        "AWS WAF",
        "<script src='https://abc.edge.sdk.awswaf.com/abc/challenge.compact.js' defer></script><script>AwsWafIntegration.getToken()</script>",
    ),
    (
        "OneTrust",
        "<script src='https://cdn.cookielaw.org/scripttemplates/otSDKStub.js'></script><div id='onetrust-consent-sdk'></div>",
    ),
    ("Cookiebot", "<script id=Cookiebot src='https://consent.cookiebot.com/uc.js'></script>"),
    ("Piano", "<script>tp=window['tp']||[];</script><div id=piano-inline class='piano-container'></div>"),
    ("F5", "<script src='/TSPD/08ab?type=7'></script><script>window.bobcmn='x'</script>"),
)

WITH_VENDORS = tuple(
    (f"{what} on a {size} page", framed("Harbour walk", f"<h1>Harbour walk</h1>{body}", scripts=script), "/walk")
    for what, script in _VENDOR_SCRIPTS
    for size, body in (
        ("short", "<p>Meet at the lamp at ten. The walk takes an hour and ends at the café on the mole.</p>"),
        ("middling", ARTICLE),
        ("long", LONG),
    )
)

ABOUT = tuple(
    (f"an article: {headline}", framed(f"{headline} - Harbour blog", f"<h1>{headline}</h1>{body}"), "/blog/about")
    for headline in (
        "404 Not Found",
        "Page not found",
        "Oops! That page can't be found",
        "Seite nicht gefunden",
        "403 Forbidden explained",
        "Access denied",
        "Sign in",
        "Login",
        "Just a moment...",
        "Performing security verification",
        "Verify you are human",
        "Too many requests",
        "Down for maintenance",
        "This domain is for sale",
        "Are you over 18?",
        "We value your privacy",
        "Subscribe to continue reading",
        "Please enable JavaScript",
        "Service unavailable",
        "Under construction",
        "Welcome to nginx!",
        "Not available in your country",
        "Account suspended",
    )
    for body in (
        ARTICLE + "<p>It says that the page you are looking for does not exist, or asks you to log in.</p>",
        LONG,
    )
)

TEASERS = (
    (
        "a free article with an offer below",
        framed(
            "The mole",
            f"<h1>The mole</h1>{LONG}<aside>Subscribe to read more. Already a subscriber? Log in.</aside>",
            head='<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":true}</script>',
        ),
        "/news/mole",
    ),
    (
        "a paid article whose whole text is there",
        framed(
            "The mole",
            f"<h1>The mole</h1><div class=paywall>{LONG}</div><p>Subscribe to continue reading.</p>",
            head='<script type="application/ld+json">{"isAccessibleForFree":"False"}</script>',
        ),
        "/news/mole",
    ),
    (
        "a note on subscriptions",
        framed(
            "Subscriptions",
            "<h1>Subscriptions</h1><p>Already a subscriber? The card is sent again on request. A year costs 48 euros, half for students, and can be ended at any month's end.</p>",
        ),
        "/subscriptions",
    ),
)

MORE = tuple(
    (f"more: {title}", framed(title, body), "/x")
    for title, body in (
        ("Error codes", "<h1>E404</h1><p>Not found. The drive did not answer on the bus.</p>"),
        ("404 Bar & Grill", "<h1>404 Bar & Grill</h1><p>Open daily from six. 404 Main Street.</p>"),
        (
            "Lost & found",
            "<h1>Lost and found</h1><p>Ask at the desk. Things not found after a month are given away.</p>",
        ),
        ("Missing", "<h1>Missing</h1><p>Our cat, grey, answers to Otto. Call 01632 960 020.</p>"),
        (
            "Access",
            "<h1>Access</h1><p>The beach is reached by ninety steps. Access denied to dogs from May to September.</p>",
        ),
        ("Blocked drains", "<h1>Your drain has been blocked</h1><p>We come within two hours, day and night.</p>"),
        (
            "Maintenance",
            "<h1>Maintenance</h1><p>We look after boilers, pumps and pipes all year. Call us for an offer, and a fitter comes by within the week.</p>",
        ),
        (
            "Service status",
            "<h1>All systems operational</h1><p>API: up. Dashboard: up. Exports: under maintenance.</p>",
        ),
        (
            "Oat cookies",
            "<h1>Oat cookies</h1><p>Mix, shape, bake. We use cookies with a short rest for the trifle.</p><button>Print recipe</button>",
        ),
        ("House", "<h1>The house is for sale</h1><p>Three bedrooms above the harbour.</p>"),
        (
            "Age",
            "<h1>Are you over 60?</h1><p>Then you travel at half price on all our boats.</p><button>Buy a ticket</button>",
        ),
        (
            "Sold",
            "<h1>House by the harbour</h1><p>This listing has been removed.</p><p>3 bedrooms, built in 1911. Sold in May.</p>",
        ),
        (
            "Under construction",
            "<h1>Under construction: the new pier</h1><p>Piles are driven until March. Boats land at the old one meanwhile.</p>",
        ),
        (
            "Coming soon",
            "<h1>Coming soon to the cinema</h1><ul><li>The Lighthouse, 4 May</li><li>Salt, 11 May</li></ul>",
        ),
        ("Events", "<h1>Events</h1><p>No events found in May.</p><p>In June: regatta, choir, market.</p>"),
        (
            "The pier",
            "<h1>The pier</h1><p>A film of four minutes. If this video is not available in your country, write to us.</p>",
        ),
        (
            "The mole",
            "<h1>The mole</h1><p>The board met.</p><aside>Already a subscriber? Log in</aside><p>It decided nothing.</p>",
        ),
    )
)

AND_MORE = tuple(
    (f"and more: {number}", html, "/x")
    for number, html in enumerate(
        (
            framed(
                "Index of /pub",
                "<h1>Index of /pub</h1><pre><a href=a.zip>a.zip</a> 2024-01-01 10:00 12K\n<a href=b.zip>b.zip</a> 2024-01-01 10:00 15K</pre>",
            ),
            framed(
                "Missing children",
                "<h1>Missing persons</h1><p>Call the police at Penmore if you know where Tom Alba, 61, is.</p>",
            ),
            framed("Opening soon", "<h1>The café opens soon</h1><p>On the first of May, at ten.</p>"),
            framed(
                "Page 404",
                "<h1>Ledger, page 404</h1><p>In the year 1911 the committee paid forty pounds for stone.</p>",
            ),
            framed("Not found", "<h1>Not found in nature</h1><p>Technetium is made in reactors.</p>"),
            framed("Unavailable", "<h1>Unavailable dates</h1><p>4 to 11 May, 2 June.</p>"),
            framed(
                "Blocked",
                "<h1>Blocked users</h1><p>Users on this list cannot write to you. Remove a name to hear from them again.</p>",
            ),
            framed("Sign in", "<h1>Sign-in sheet</h1><p>Print it and lay it beside the door.</p>"),
            framed("Error 500", "<h1>Fiat 500 error codes</h1><p>P0300: misfire. P0420: catalyst.</p>"),
            framed("Exceptions", "<h1>NotFoundError</h1><p>Raised by get() if there is no row with the key.</p>"),
            framed(
                "Captcha",
                "<h1>Add a CAPTCHA</h1><p>Turn it on under Forms. Visitors have to prove that they are human before the form is sent.</p>",
                scripts="<script src=https://www.google.com/recaptcha/api.js></script>",
            ),
        )
    )
)

ALL = (*GLOSSARY, *SHORT_DOCS, *SHORT_PAGES, *PRODUCTS, *WITH_VENDORS, *ABOUT, *TEASERS, *MORE, *AND_MORE)
