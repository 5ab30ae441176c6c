"""Pages that are no content: (what it is, status, headers, HTML, path, the states that are right for it).

Written for these tests after the shape of what vendors and sites send; nothing in them is anybody's page.
"""

# ruff: noqa: E501, RUF001, RUF005 - each page on one line, in the words of many languages

from __future__ import annotations

from kb_pipeline_tests.core.pages_kept import FOOTER, NAV, framed


def bare(title: str, body: str, head: str = "") -> str:
    """A page without a site around it, as shields and servers make them."""
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


SOFT_404 = tuple(
    (
        f"soft 404: {language}",
        200,
        {},
        framed(f"{headline} | Aldermere", f"<h1>{headline}</h1><p>{text}</p><p><a href=/>←</a></p>"),
        "/x",
        "soft_404",
    )
    for language, headline, text in (
        (
            "English",
            "Page not found",
            "Sorry, we can't find the page you are looking for. It might have been moved or renamed. Use the search above, or go back to the start page and try from there.",
        ),
        ("English, 404", "404", "The page you requested could not be found."),
        ("English, jocular", "Oops! We can't find that page", "The tide must have taken it."),
        ("English, error", "Error 404: page not found", "Please check the address."),
        ("English, gone", "This page no longer exists", "It was removed by its author."),
        (
            "English, nothing",
            "Nothing found",
            "It seems we can't find what you're looking for. Perhaps searching can help.",
        ),
        ("English, product", "Product not found", "The product you are looking for is not in our range any more."),
        ("English, article", "Sorry, this article has been removed", "Have a look at the newest ones."),
        (
            "German",
            "Seite nicht gefunden",
            "Die von Ihnen aufgerufene Seite existiert leider nicht oder wurde verschoben. Nutzen Sie die Suche oder kehren Sie zur Startseite zurück.",
        ),
        ("German, plain", "Diese Seite gibt es leider nicht", "Zur Startseite geht es hier."),
        ("German, 404", "Fehler 404 – Seite nicht gefunden", "Bitte prüfen Sie die Adresse."),
        ("French", "Page introuvable", "Désolé, la page que vous recherchez n'existe pas ou a été déplacée."),
        ("French, sentence", "Oups ! Cette page n'existe plus", "Revenez à la page d'accueil."),
        ("French, error", "Erreur 404", "La page demandée est introuvable."),
        ("Spanish", "Página no encontrada", "Lo sentimos, la página que buscas no existe o ha sido eliminada."),
        ("Spanish, no existe", "Esta página no existe", "Vuelve al inicio."),
        ("Italian", "Pagina non trovata", "Spiacenti, la pagina che cerchi non esiste o è stata spostata."),
        ("Portuguese", "Página não encontrada", "Desculpe, a página que você procura não existe."),
        ("Dutch", "Pagina niet gevonden", "Helaas bestaat de pagina die u zoekt niet meer."),
        ("Dutch, sentence", "Deze pagina bestaat niet", "Ga terug naar de startpagina."),
        ("Swedish", "Sidan kunde inte hittas", "Tyvärr finns inte sidan du letar efter."),
        ("Danish", "Siden blev ikke fundet", "Siden findes desværre ikke længere."),
        ("Norwegian", "Fant ikke siden", "Beklager, siden du leter etter finnes ikke."),
        ("Finnish", "Sivua ei löytynyt", "Valitettavasti etsimääsi sivua ei ole."),
        ("Polish", "Nie znaleziono strony", "Przepraszamy, strona, której szukasz, nie istnieje."),
        ("Czech", "Stránka nenalezena", "Je nám líto, požadovaná stránka neexistuje."),
        ("Slovak", "Stránka sa nenašla", "Ľutujeme, stránka neexistuje."),
        ("Hungarian", "Az oldal nem található", "Sajnáljuk, a keresett oldal nem létezik."),
        ("Romanian", "Pagina nu a fost găsită", "Ne pare rău, pagina căutată nu există."),
        ("Russian", "Страница не найдена", "К сожалению, запрашиваемая страница не существует или была удалена."),
        ("Ukrainian", "Сторінку не знайдено", "На жаль, такої сторінки не існує."),
        ("Bulgarian", "Страницата не е намерена", "Съжаляваме, страницата не съществува."),
        ("Croatian", "Stranica nije pronađena", "Žao nam je, tražena stranica ne postoji."),
        ("Greek", "Η σελίδα δεν βρέθηκε", "Λυπούμαστε, η σελίδα που ζητήσατε δεν υπάρχει."),
        ("Turkish", "Sayfa bulunamadı", "Üzgünüz, aradığınız sayfa mevcut değil."),
        ("Japanese", "ページが見つかりません", "お探しのページは移動または削除された可能性があります。"),
        ("Japanese, sought", "お探しのページは見つかりませんでした", "トップページへ戻る"),
        ("Chinese", "页面未找到", "抱歉，您访问的页面不存在或已被删除。"),
        ("Chinese, traditional", "找不到網頁", "很抱歉，您要瀏覽的網頁不存在。"),
        ("Korean", "페이지를 찾을 수 없습니다", "요청하신 페이지가 존재하지 않거나 삭제되었습니다."),
        ("Vietnamese", "Không tìm thấy trang", "Trang bạn tìm không tồn tại."),
        ("Indonesian", "Halaman tidak ditemukan", "Maaf, halaman yang Anda cari tidak ada."),
        ("Thai", "ไม่พบหน้าที่คุณต้องการ", "ขออภัย หน้านี้อาจถูกลบไปแล้ว"),
        ("Arabic", "الصفحة غير موجودة", "عذرًا، الصفحة التي تبحث عنها غير موجودة."),
        ("Hebrew", "הדף לא נמצא", "מצטערים, הדף שחיפשת אינו קיים."),
        ("Hindi", "पेज नहीं मिला", "क्षमा करें, यह पेज मौजूद नहीं है।"),
        ("Catalan", "Pàgina no trobada", "Ho sentim, la pàgina que cerqueu no existeix."),
    )
) + (
    (
        "soft 404: below a logo",
        200,
        {},
        framed(
            "Aldermere",
            "<h1>Aldermere</h1><h2>Page not found</h2><p>Sorry, there is nothing here. Go back to the home page.</p>",
        ),
        "/x",
        "soft_404",
    ),
    (
        "soft 404: title only",
        200,
        {},
        framed("Page Not Found - Aldermere", "<p>Sorry about that! Try the menu.</p>"),
        "/x",
        "soft_404",
    ),
    (
        "soft 404: with what is popular",
        200,
        {},
        framed(
            "Not found",
            "<h1>Sorry, page not found</h1><p>You may like:</p><ul>"
            + "".join(f"<li><a href=/p/{n}>Popular thing {n}</a>" for n in range(30))
            + "</ul>",
        ),
        "/x",
        "soft_404",
    ),
    (
        "soft 404: a job",
        200,
        {},
        framed("Jobs", "<h1>This job is no longer available</h1><p>See all open positions.</p>"),
        "/jobs/9",
        "soft_404",
    ),
    (
        "soft 404: a search",
        200,
        {},
        framed("Search", "<h1>No results found</h1><p>Your search did not match any documents. Try fewer words.</p>"),
        "/search?q=qqq",
        "soft_404",
    ),
    (
        "soft 404: IIS",
        200,
        {},
        bare(
            "404 - File or directory not found.",
            "<div id=header><h1>Server Error</h1></div><div><h2>404 - File or directory not found.</h2><h3>The resource you are looking for might have been removed, had its name changed, or is temporarily unavailable.</h3></div>",
        ),
        "/x",
        "soft_404",
    ),
    (
        "soft 404: nginx",
        200,
        {},
        bare("404 Not Found", "<center><h1>404 Not Found</h1></center><hr><center>nginx/1.27.2</center>"),
        "/x",
        "soft_404",
    ),
    (
        "soft 404: GitHub Pages",
        200,
        {},
        bare(
            "Page not found · GitHub Pages",
            "<h1>404</h1><p><strong>File not found</strong></p><p>The site configured at this address does not contain the requested file.</p>",
        ),
        "/x",
        "soft_404",
    ),
)

CHALLENGES = tuple(
    (f"challenge: {what}, {status}", status, {}, html, "/x", states)
    for what, html, statuses, states in (
        (
            "Cloudflare, managed",
            bare(
                "Just a moment...",
                "<noscript><h2>Enable JavaScript and cookies to continue</h2></noscript><script>window._cf_chl_opt={cvId:'3',cType:'managed'};</script><script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8f'></script>",
            ),
            (200, 403, 503),
            "challenge",
        ),
        (
            "Cloudflare, 2026",
            bare(
                "example.com",
                "<h1>example.com</h1><h2>Performing security verification</h2><p>This website uses a security service to protect against malicious bots. This page is displayed while the website verifies you are not a bot.</p><div>Ray ID: <code>9a0</code></div><div>Performance and Security by Cloudflare</div>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "Cloudflare, German",
            bare(
                "Nur einen Moment…",
                "<h1>example.com</h1><p>Bestätigen Sie, dass Sie ein Mensch sind, indem Sie die nachfolgende Aktion ausführen.</p><script>(function(){window._cf_chl_opt={cType:'interactive'}})()</script>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "Akamai",
            bare(
                "",
                "<script src='/_sec/cp_challenge/sec-3-6.js'></script><div id='sec-if-cpt-container' style='display:none'><iframe id=sec-cpt-if data-key=''></iframe></div>",
            ),
            (200, 428, 403),
            "challenge",
        ),
        (
            "Imperva, frame",
            bare(
                "",
                "<iframe id='main-iframe' src='/_Incapsula_Resource?SWUDNSAI=31&xinfo=9-1&incident_id=1&edet=15&cinfo=04' frameborder=0 width='100%'>Request unsuccessful. Incapsula incident ID: 1-2</iframe>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "Imperva, script",
            "<html><head><META NAME='robots' CONTENT='noindex,nofollow'><script src='/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4,719d34d31c8e3a6e6fffd425f7e032f3'></script></head><body></body></html>",
            (200,),
            "challenge",
        ),
        (
            "Distil",
            bare(
                "Pardon Our Interruption",
                "<h1>Pardon Our Interruption</h1><p>As you were browsing something about your browser made us think you were a bot. There are a few reasons this might happen.</p><ul><li>You're a power user moving through this website with super-human speed.</li><li>You've disabled cookies in your web browser.</li></ul><p>To regain access, please make sure that cookies and JavaScript are enabled before reloading the page.</p>",
            ),
            (200, 405),
            "challenge",
        ),
        (
            "DataDome",
            "<html lang=en><head><title>shop.example</title><style>#cmsg{animation: A 1.5s;}</style></head><body style='margin:0'><p id=cmsg>Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','cid':'AH','hsh':'1','t':'bv','host':'geo.captcha-delivery.com'}</script><script src='https://ct.captcha-delivery.com/c.js'></script></body></html>",
            (200, 403),
            "challenge",
        ),
        (
            "PerimeterX",
            bare(
                "Access to this page has been denied",
                "<h1>Access to this page has been denied because we believe you are using automation tools to browse the website.</h1><p>Please make sure that JavaScript and cookies are enabled.</p><p>Reference ID: #1f2</p><div id='px-captcha'></div><script>window._pxAppId='PX1';</script>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "HUMAN, hold",
            bare(
                "Robot or human?",
                "<div><h1>Robot or human?</h1><p>Activate and hold the button to confirm that you're human. Thank You!</p><div id=px-captcha></div></div><script src='https://captcha.px-cloud.net/PX1/captcha.js'></script>",
            ),
            (200, 412),
            "challenge",
        ),
        (
            "Kasada",
            "<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=Date.now;KPSDK.start=KPSDK.now();</script><script src='/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39/ips.js?tkrm=1'></script></body></html>",
            (429, 200),
            "challenge",
        ),
        (
            "AWS WAF, challenge",
            "<!DOCTYPE html><html lang=en><head><title></title><script>window.awsWafCookieDomainList=[];window.gokuProps={'key':'AQ','iv':'CgA','context':'x'};</script><script src='https://a.b.eu-west-1.token.awswaf.com/a/b/c/challenge.js'></script></head><body><div id=challenge-container></div><script>AwsWafIntegration.saveReferrer();AwsWafIntegration.checkForceRefresh()</script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you're not a robot. This requires JavaScript. Enable JavaScript and then reload the page.</noscript></body></html>",
            (202, 200, 405),
            "challenge",
        ),
        (
            "AWS WAF, captcha",
            bare(
                "Human Verification",
                "<script>window.gokuProps={'key':'A'}</script><script src='https://a.b.captcha.awswaf.com/a/captcha.js'></script><div id=captcha-container></div>",
            ),
            (405, 200),
            "challenge",
        ),
        (
            "Vercel",
            bare(
                "Vercel Security Checkpoint",
                "<p id=header-text>We're verifying your browser</p><p id=footer-text>Website owner? <a href='https://vercel.link/security-checkpoint'>Click here to fix</a></p><script type=module>let x=1</script>",
            ),
            (429, 200, 403),
            "challenge",
        ),
        (
            "Sucuri",
            "<html><title>You are being redirected...</title><noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript><script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='',S='cz0i';</script></html>",
            (200, 307),
            "challenge",
        ),
        (
            "DDoS-Guard",
            bare(
                "DDoS-Guard",
                "<h1>Checking your browser before accessing shop.example.</h1><p>Please wait a few seconds. Once this check is complete, the website will open automatically</p><p>DDoS protection by DDoS-Guard</p><script src='/.well-known/ddos-guard/js-challenge/index.js'></script>",
            ),
            (200, 403, 503),
            "challenge",
        ),
        (
            "Anubis",
            bare(
                "Making sure you're not a bot!",
                "<h1>Making sure you're not a bot!</h1><p id=status>Loading...</p><details><summary>Why am I seeing this?</summary><p>You are seeing this because the administrator of this website has set up Anubis to protect the server against the scourge of AI companies aggressively scraping websites. This can and does cause downtime for the websites, which makes their resources inaccessible for everyone. Anubis is a compromise. Anubis uses a Proof-of-Work scheme in the vein of Hashcash, a proposed proof-of-work scheme for reducing email spam.</p></details><script id=anubis_challenge type='application/json'>{}</script><script type=module src='/.within.website/x/cmd/anubis/static/js/main.mjs'></script>",
            ),
            (200, 500),
            "challenge",
        ),
        (
            "go-away",
            bare(
                "Checking you are not a bot",
                "<h1>Checking you are not a bot</h1><p>Please wait…</p><script src='/.well-known/.git.gammaspectra.live/git/go-away/cmd/go-away/challenge/js-pow-sha256/asset/load.mjs' type=module></script>",
            ),
            (200,),
            "challenge",
        ),
        (
            "F5",
            "<html><head><noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: 123.</noscript><script>(function(){window.bobcmn='1011';window.dcm='';})();</script><script src='/TSPD/08f?type=10'></script></head><body></body></html>",
            (200,),
            "challenge",
        ),
        (
            "Radware",
            bare(
                "Radware Bot Manager Captcha",
                "<h1>We apologize for the inconvenience...</h1><p>...but your activity and behavior on this site made us think that you are a bot.</p><p>Please solve this CAPTCHA in helping us understand your behavior to grant access</p><div class=h-captcha></div><p>Incident ID: 1</p>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "Fastly",
            bare(
                "Client Challenge",
                "<p>JavaScript is disabled in your browser. Please enable JavaScript to proceed.</p><p>A required part of this site couldn't load.</p><script src='/_fs-ch-1T1wmsGaOgGaSxcX/script.js'></script>",
            ),
            (200, 202, 406),
            "challenge",
        ),
        (
            "Google",
            bare(
                "https://www.google.com/search?q=x",
                "<hr><form id='captcha-form' action='index' method='post'><div id='recaptcha' class='g-recaptcha' data-sitekey='6'></div></form><b>About this page</b><br><br>Our systems have detected unusual traffic from your computer network.  This page checks to see if it's really you sending the requests, and not a robot.",
            ),
            (429, 200, 503),
            "challenge rate_limited",
        ),
        (
            "an image captcha",
            bare(
                "Robot Check",
                "<h4>Enter the characters you see below</h4><p>Sorry, we just need to make sure you're not a robot.</p><form action='/errors/validateCaptcha'><img src='/captcha/a.jpg'><input id=captchacharacters></form>",
            ),
            (200, 503),
            "challenge",
        ),
        (
            "Turnstile gate",
            bare(
                "Security check",
                "<h1>Verify you are human</h1><p>Please complete the check to continue.</p><form><div class=cf-turnstile></div></form><script src='https://challenges.cloudflare.com/turnstile/v0/api.js'></script>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "hCaptcha gate",
            bare(
                "Are you a robot?",
                "<h1>Are you a robot?</h1><form><div class=h-captcha data-sitekey=1></div><button>Submit</button></form>",
            ),
            (200, 403),
            "challenge",
        ),
        (
            "Qrator",
            bare("", "<script src='/__qrator/qauth_utm_v2.js'></script>"),
            (401, 200),
            "challenge login_wall js_shell",
        ),
        (
            "Yandex",
            bare(
                "Вы не робот?",
                "<h1>Подтвердите, что запросы отправляли вы, а не робот</h1><p>Нам очень жаль, но запросы с вашего устройства похожи на автоматические.</p><form action='/checkcaptcha'><div class='CheckboxCaptcha SmartCaptcha'></div></form>",
            ),
            (200, 403),
            "challenge",
        ),
    )
    for status in statuses
) + (
    ("challenge: told by a header", 403, {"cf-mitigated": "challenge"}, bare("", "<p>.</p>"), "/x", "challenge"),
    ("challenge: AWS by a header", 202, {"x-amzn-waf-action": "challenge"}, "", "/x", "challenge empty"),
)

SHELLS = tuple(
    (f"shell: {what}", 200, {}, html, "/x", states)
    for what, html, states in (
        (
            "React",
            '<html><head><title>App</title><script defer src="/static/js/main.8f.js"></script></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>',
            "js_shell",
        ),
        (
            "Vite",
            '<html><head><title>App</title><script type="module" src="/assets/index-1.js"></script></head><body><div id=app></div></body></html>',
            "js_shell",
        ),
        (
            "Vue CLI",
            "<html><head><title>App</title></head><body><noscript><strong>We're sorry but app doesn't work properly without JavaScript enabled. Please enable it to continue.</strong></noscript><div id=app></div><script src=/js/app.js></script></body></html>",
            "js_shell",
        ),
        (
            "Angular with a spinner",
            "<html><head><title>App</title></head><body><app-root><div class=spinner>Loading…</div></app-root><script src=main.js type=module></script></body></html>",
            "js_shell",
        ),
        (
            "Svelte",
            "<html><head><title>App</title></head><body data-sveltekit-preload-data><div style='display: contents'><script>Promise.all([import('/_app/immutable/entry/start.1.js')])</script></div></body></html>",
            "js_shell",
        ),
        (
            "Ember",
            "<html><head><title>App</title><meta name='app/config/environment' content='%7B%7D'></head><body><script src=/assets/vendor.js></script><script src=/assets/app.js></script><div id=ember-basic-dropdown-wormhole></div></body></html>",
            "js_shell",
        ),
        (
            "Blazor",
            "<html><head><title>App</title></head><body><div id=app>Loading...</div><div id=blazor-error-ui>An unhandled error has occurred. <a href=''>Reload</a> <a class=dismiss>🗙</a></div><script src=_framework/blazor.webassembly.js></script></body></html>",
            "js_shell",
        ),
        (
            "Flutter",
            "<html><head><title>App</title></head><body><script src=flutter_bootstrap.js async></script></body></html>",
            "js_shell",
        ),
        (
            "Next with a skeleton",
            '<html><head><title>App</title></head><body><div id="__next"><div class=skeleton><div></div><div></div></div></div><script id="__NEXT_DATA__" type="application/json">{"props":{}}</script><script src=/_next/static/chunks/main.js></script></body></html>',
            "js_shell",
        ),
        (
            "Next with a frame",
            f'<html><head><title>App</title></head><body><div id="__next">{NAV}<main><div class=skeleton></div></main>{FOOTER}</div><script src=/_next/static/chunks/main.js></script></body></html>',
            "js_shell empty",
        ),
        (
            "Nuxt",
            '<html><head><title>App</title></head><body><div id="__nuxt"></div><script>window.__NUXT__={}</script><script type=module src=/_nuxt/entry.js></script></body></html>',
            "js_shell",
        ),
        (
            "Gatsby",
            '<html><head><title>App</title></head><body><div id="___gatsby"><div id="gatsby-focus-wrapper"></div></div><script src=/app-1.js></script></body></html>',
            "js_shell",
        ),
        (
            "Quasar",
            "<html><head><title>App</title></head><body><div id=q-app></div><script src=/js/app.js></script></body></html>",
            "js_shell",
        ),
        (
            "a web component",
            "<html><head><title>App</title><script type=module src=/app.js></script></head><body><my-app></my-app></body></html>",
            "js_shell",
        ),
        (
            "a wait in German",
            "<html><head><title>App</title></head><body><div id=root><p>Bitte warten, die Anwendung wird geladen …</p></div><script src=/a.js></script></body></html>",
            "js_shell",
        ),
        (
            "a request for script",
            "<html><head><title>App</title></head><body><div id=main><p>This site requires JavaScript. Please turn on JavaScript in your browser and reload the page.</p></div><script src=/a.js></script></body></html>",
            "js_shell",
        ),
        (
            "with a sensor of a shield",
            '<html><head><title>App</title><script>window._pxAppId="PX1"</script></head><body><div id="root"></div><script src=/a.js></script></body></html>',
            "js_shell",
        ),
        (
            "a redirect by script",
            "<html><head><title>Redirecting</title><script>window.location.replace('/new')</script></head><body></body></html>",
            "js_shell redirect",
        ),
        (
            "a redirect by meta",
            "<html><head><title>Moved</title><meta http-equiv=refresh content='0; url=/new'></head><body><p>Moved <a href=/new>here</a>.</p></body></html>",
            "redirect",
        ),
        ("nothing", "<html><head><title>Aldermere</title></head><body></body></html>", "empty"),
        (
            "a frame alone",
            f"<html><head><title>Aldermere</title></head><body>{NAV}{FOOTER}</body></html>",
            "empty js_shell",
        ),
    )
)

LOGINS = tuple(
    (f"login: {what}", status, {}, html, path, states)
    for what, status, html, path, states in (
        (
            "a form",
            200,
            framed(
                "Sign in",
                "<h1>Sign in</h1><form><input type=email><input type=password><button>Sign in</button></form><a href=/reset>Forgot password?</a>",
            ),
            "/x",
            "login_wall",
        ),
        (
            "with help text",
            200,
            framed(
                "Log in | Intranet",
                "<h1>Log in</h1><p>Use the name and password of your computer. If you have just joined, wait for the letter with your first password; it takes about two days. When the account is locked, call the service desk on 4411.</p><form><input name=username><input type=password><button>Log in</button></form>",
            ),
            "/x",
            "login_wall",
        ),
        (
            "WordPress",
            200,
            bare(
                "Log In ‹ Aldermere — WordPress",
                "<h1><a href=https://wordpress.org/>Powered by WordPress</a></h1><form id=loginform action=/wp-login.php><label>Username<input name=log></label><label>Password<input type=password name=pwd></label><input type=submit value='Log In'></form>",
            ),
            "/wp-login.php?redirect_to=x",
            "login_wall",
        ),
        (
            "first the address",
            200,
            framed("Sign in", "<h1>Sign in</h1><form><input type=email name=email><button>Continue</button></form>"),
            "/x",
            "login_wall",
        ),
        (
            "by another's account",
            200,
            framed(
                "Log in to Notes",
                "<h1>Log in</h1><button>Continue with Google</button><button>Continue with Microsoft</button>",
            ),
            "/x",
            "login_wall",
        ),
        (
            "Okta",
            200,
            bare(
                "Aldermere - Sign In",
                "<div id=okta-sign-in><h2>Sign In</h2><form><input name=username><input type=password></form></div>",
            ),
            "/x",
            "login_wall",
        ),
        (
            "Keycloak",
            200,
            bare(
                "Sign in to aldermere",
                "<h1>Sign in to your account</h1><form id=kc-form-login><input name=username><input type=password name=password><input type=submit></form>",
            ),
            "/realms/a/protocol/openid-connect/auth",
            "login_wall",
        ),
        (
            "a forum",
            200,
            framed("Information", "<h2>Information</h2><p>You must be logged in to view this page.</p>"),
            "/viewtopic.php?t=1",
            "login_wall",
        ),
        (
            "French",
            200,
            framed("Connexion", "<h1>Se connecter</h1><form><input type=email><input type=password></form>"),
            "/x",
            "login_wall",
        ),
        (
            "Spanish",
            200,
            framed("Iniciar sesión", "<h1>Iniciar sesión</h1><form><input type=email><input type=password></form>"),
            "/x",
            "login_wall",
        ),
        (
            "Japanese",
            200,
            framed("ログイン", "<h1>ログイン</h1><form><input type=text><input type=password></form>"),
            "/x",
            "login_wall",
        ),
        ("401", 401, bare("401", "<h1>Authorization Required</h1>"), "/x", "login_wall"),
    )
)

_PAID = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":false,"hasPart":{"cssSelector":".paywall"}}</script>'
_TEASER = "<p>The harbour board met behind closed doors on Monday to discuss the sale of the western mole. Nobody would say who the buyer was, but two of the members left before the vote.</p>"
PAYWALLS = tuple(
    (f"paywall: {what}", 200, {}, html, "/x", "paywall")
    for what, html in (
        (
            "subscription",
            framed(
                "The mole is sold",
                f"<h1>The mole is sold</h1>{_TEASER}<div class=paywall><h2>Subscribe to continue reading</h2><p>From 2 euros a week. Already a subscriber? Log in.</p></div>",
            ),
        ),
        (
            "with a long teaser",
            framed(
                "The mole is sold",
                f"<h1>The mole is sold</h1>{_TEASER * 3}<div class=offer><h2>To continue reading, subscribe</h2><p>Already a subscriber? Log in.</p></div>",
                head=_PAID,
            ),
        ),
        (
            "metered",
            framed(
                "The mole",
                "<h1>The mole</h1><p>The board met on Monday.</p><div class=regwall><p>You have reached your limit of free articles.</p><p>Subscribe to keep reading.</p></div>",
            ),
        ),
        (
            "registration",
            framed(
                "The mole",
                "<h1>The mole</h1><p>The board met on Monday.</p><div class=metered-content><h3>Create a free account to continue reading</h3></div>",
            ),
        ),
        (
            "German",
            framed(
                "Die Mole",
                "<h1>Die Mole</h1><p>Der Rat tagte am Montag.</p><div class=paywall><p>Jetzt weiterlesen mit dem Digital-Abo</p></div>",
                head=_PAID,
            ),
        ),
        (
            "French",
            framed(
                "Le môle",
                "<h1>Le môle</h1><p>Le conseil s'est réuni lundi.</p><p>Cet article est réservé aux abonnés.</p>",
                head=_PAID,
            ),
        ),
        (
            "Italian",
            framed(
                "Il molo",
                "<h1>Il molo</h1><p>Il consiglio si è riunito.</p><p>Contenuto riservato agli abbonati</p>",
                head=_PAID,
            ),
        ),
    )
)

GATES = tuple(
    (f"gate: {what}", 200, {}, html, "/x", states)
    for what, html, states in (
        (
            "age",
            bare(
                "Age verification",
                "<h1>Are you over 18?</h1><p>You must be of legal drinking age to enter this site.</p><button>Yes</button><button>No</button>",
            ),
            "age_gate",
        ),
        (
            "age by date",
            bare(
                "Brewery",
                "<h2>Please enter your date of birth</h2><p>You must be 18 or over to enter.</p><form><input type=date><button>Enter</button></form>",
            ),
            "age_gate",
        ),
        (
            "age, German",
            bare("Brauerei", "<h1>Sind Sie über 16?</h1><button>Ja</button><button>Nein</button>"),
            "age_gate",
        ),
        (
            "age, French",
            bare(
                "Cave",
                "<h1>Avez-vous l'âge légal ?</h1><p>Vous devez avoir plus de 18 ans pour entrer sur ce site.</p><button>Oui</button><button>Non</button>",
            ),
            "age_gate",
        ),
        (
            "cookies",
            bare(
                "Your privacy",
                "<main><h1>We value your privacy</h1><p>We and our 812 partners store and access information on a device.</p><button>Accept all</button><button>Reject all</button></main>",
            ),
            "cookie_wall",
        ),
        (
            "cookies, German",
            bare(
                "Zeitung",
                "<h1>Mit Werbung weiterlesen</h1><p>Besuchen Sie uns wie gewohnt mit Werbung und Tracking, oder im Pur-Abo ohne.</p><button>Akzeptieren und weiter</button>",
            ),
            "cookie_wall",
        ),
        (
            "cookies, French",
            bare(
                "Journal",
                "<h1>Nous respectons votre vie privée</h1><p>Avec votre accord, nos partenaires et nous utilisons des cookies.</p><button>Tout accepter</button><button>Continuer sans accepter</button>",
            ),
            "cookie_wall",
        ),
        (
            "cookies, Spanish",
            bare(
                "Diario",
                "<h1>Valoramos tu privacidad</h1><p>Nosotros y nuestros socios utilizamos cookies.</p><button>Aceptar</button>",
            ),
            "cookie_wall",
        ),
        (
            "cookies, Italian",
            bare(
                "Giornale",
                "<h1>Informativa</h1><p>Noi e terze parti utilizziamo cookie per finalità tecniche. Per continuare scegli.</p><button>Accetta</button><button>Rifiuta</button>",
            ),
            "cookie_wall",
        ),
        (
            "cookies, Dutch",
            bare(
                "Krant",
                "<h1>Wij gebruiken cookies</h1><p>Voordat je verdergaat vragen we je toestemming.</p><button>Alles accepteren</button>",
            ),
            "cookie_wall",
        ),
        (
            "cookies, Polish",
            bare(
                "Gazeta",
                "<h1>Szanujemy Twoją prywatność</h1><p>My i nasi partnerzy używamy plików cookie.</p><button>Zgadzam się</button>",
            ),
            "cookie_wall",
        ),
        (
            "Google's consent",
            bare(
                "Before you continue to Google Search",
                "<h1>Before you continue to Google</h1><p>We use cookies and data to deliver and maintain services.</p><form><button>Reject all</button></form><form><button>Accept all</button></form>",
            ),
            "cookie_wall",
        ),
    )
)

PARKED = tuple(
    (f"parked: {what}", 200, {}, html, "/", states)
    for what, html, states in (
        (
            "Sedo",
            bare(
                "penmore.example",
                "<h1>penmore.example</h1><p>This domain may be for sale! Buy this domain.</p><h2>Related searches</h2><a href=//x>Boats</a><script src='https://img.sedoparking.com/js/x.js'></script>",
            ),
            "parked",
        ),
        (
            "GoDaddy",
            bare(
                "penmore.example",
                "<div>penmore.example is parked free, courtesy of GoDaddy.com.</div><p>Get this domain</p><script src='https://img1.wsimg.com/parking-lander/static/js/main.js'></script>",
            ),
            "parked",
        ),
        (
            "GoDaddy lander",
            '<html><head><script>window.onload=function(){window.location.href="/lander"}</script></head></html>',
            "parked js_shell redirect",
        ),
        (
            "Namecheap",
            bare(
                "penmore.example - Registered at Namecheap.com",
                "<h1>penmore.example</h1><p>This domain was recently registered at Namecheap.com. Please check back later!</p><script src='https://d38psrni17bvxu.cloudfront.net/themes/registrar/x.js'></script>",
            ),
            "parked",
        ),
        (
            "HugeDomains",
            bare(
                "penmore.example is for sale | HugeDomains",
                "<h1>penmore.example is for sale</h1><p>$2,895</p><a href='https://www.hugedomains.com/domain_profile.cfm?d=x'>Buy now</a>",
            ),
            "parked",
        ),
        (
            "Afternic",
            bare(
                "penmore.example",
                "<p>The domain penmore.example is available for purchase.</p><script src='https://www.afternic.com/forsale/x.js'></script>",
            ),
            "parked",
        ),
        (
            "Dan",
            bare(
                "penmore.example is for sale",
                "<h1>The domain name penmore.example is for sale!</h1><p>Get a price in less than 24 hours</p>",
            ),
            "parked",
        ),
        (
            "expired",
            bare(
                "Domain expired", "<h1>This domain has expired.</h1><p>If you own it, renew it with your registrar.</p>"
            ),
            "parked",
        ),
        (
            "nginx",
            bare(
                "Welcome to nginx!",
                "<h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is successfully installed and working. Further configuration is required.</p><p>For online documentation and support please refer to <a href=http://nginx.org/>nginx.org</a>.</p><p><em>Thank you for using nginx.</em></p>",
            ),
            "parked",
        ),
        (
            "Apache",
            bare(
                "Apache2 Ubuntu Default Page: It works",
                "<div>Apache2 Default Page</div><div>It works!</div><p>This is the default welcome page used to test the correct operation of the Apache2 server after installation on Ubuntu systems.</p>",
            ),
            "parked",
        ),
        ("Apache, bare", "<html><body><h1>It works!</h1></body></html>", "parked"),
        (
            "IIS",
            bare(
                "IIS Windows Server",
                "<div id=container><a href=http://go.microsoft.com/><img src=iisstart.png alt=IIS></a></div>",
            ),
            "parked",
        ),
        (
            "Plesk",
            bare(
                "Web Server's Default Page",
                "<h1>Web Server's Default Page</h1><p>This page is generated by Plesk, the leading hosting automation software. You see this page because there is no Web site at this address.</p>",
            ),
            "parked",
        ),
        (
            "cPanel suspended",
            bare(
                "Account Suspended",
                "<h1>Account Suspended</h1><p>This Account has been suspended.</p><p>Contact your hosting provider for more information.</p>",
            ),
            "parked",
        ),
        (
            "under construction",
            bare("Under construction", "<h1>Under construction</h1><p>Our new website is coming soon.</p>"),
            "parked unavailable",
        ),
        ("coming soon", bare("Aldermere", "<h1>Coming soon</h1>"), "parked unavailable"),
    )
)

TROUBLE = tuple(
    (f"trouble: {what}", status, {}, html, "/x", states)
    for what, status, html, states in (
        (
            "maintenance",
            200,
            bare(
                "Maintenance",
                "<h1>We'll be back soon!</h1><p>Sorry for the inconvenience. We're performing some maintenance at the moment.</p>",
            ),
            "unavailable",
        ),
        (
            "maintenance with a site around it",
            200,
            framed("Down for maintenance", "<h1>Down for maintenance</h1><p>Please check back in an hour.</p>"),
            "unavailable",
        ),
        (
            "maintenance, German",
            200,
            bare("Wartungsarbeiten", "<h1>Wartungsarbeiten</h1><p>Wir sind in Kürze wieder für Sie da.</p>"),
            "unavailable",
        ),
        (
            "maintenance, French",
            200,
            bare("Site en maintenance", "<h1>Site en maintenance</h1><p>Nous revenons bientôt.</p>"),
            "unavailable",
        ),
        (
            "maintenance, Spanish",
            200,
            bare("Sitio en mantenimiento", "<h1>Sitio en mantenimiento</h1><p>Volvemos pronto.</p>"),
            "unavailable",
        ),
        (
            "WordPress",
            200,
            bare("Maintenance", "Briefly unavailable for scheduled maintenance. Check back in a minute."),
            "unavailable",
        ),
        ("a database", 200, bare("Database Error", "<h1>Error establishing a database connection</h1>"), "unavailable"),
        (
            "a gateway",
            200,
            bare("502 Bad Gateway", "<center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center>"),
            "unavailable",
        ),
        (
            "an exception",
            200,
            bare(
                "500 Internal Server Error",
                "<h1>Internal Server Error</h1><p>The server encountered an internal error and was unable to complete your request. Please contact the administrator.</p>",
            ),
            "unavailable",
        ),
        (
            "something went wrong",
            200,
            bare("Error", "<h1>Something went wrong</h1><p>Please try again later.</p>"),
            "unavailable",
        ),
        ("503", 503, bare("Wait", "<p>Wait</p>"), "unavailable"),
        (
            "a rate limit",
            200,
            bare(
                "Slow down",
                "<h1>Rate limit exceeded</h1><p>You have sent too many requests. Please wait a few minutes before you try again.</p>",
            ),
            "rate_limited",
        ),
        (
            "too many requests",
            200,
            bare("429 Too Many Requests", "<center><h1>429 Too Many Requests</h1></center><hr><center>nginx</center>"),
            "rate_limited",
        ),
        ("a rate limit as text", 200, "Too many requests", "rate_limited"),
        (
            "a rate limit with 503",
            503,
            bare("Error", "<h1>Too many requests</h1><p>Please slow down.</p>"),
            "rate_limited unavailable",
        ),
        ("429", 429, bare("Wait", "<p>Wait</p>"), "rate_limited"),
        (
            "Akamai says no",
            200,
            bare(
                "Access Denied",
                '<h1>Access Denied</h1>You don\'t have permission to access "http://x.example/" on this server.<p>Reference #18.2d351ab8.15.a4</p>',
            ),
            "blocked",
        ),
        (
            "Cloudflare says no",
            403,
            bare(
                "Attention Required! | Cloudflare",
                "<h1>Sorry, you have been blocked</h1><h2>You are unable to access x.example</h2><p>Cloudflare Ray ID: 8f0</p>",
            ),
            "blocked",
        ),
        (
            "CloudFront says no",
            403,
            bare(
                "ERROR: The request could not be satisfied",
                "<h1>403 ERROR</h1><h2>The request could not be satisfied.</h2>Request blocked.",
            ),
            "blocked",
        ),
        (
            "F5 says no",
            200,
            bare(
                "Request Rejected",
                "The requested URL was rejected. Please consult with your administrator.<br>Your support ID is: 1",
            ),
            "blocked",
        ),
        (
            "an address that is banned",
            200,
            bare("Blocked", "<h1>Your IP address has been blocked</h1><p>Contact the owner of the site.</p>"),
            "blocked",
        ),
        (
            "403 with 200",
            200,
            bare("403 Forbidden", "<center><h1>403 Forbidden</h1></center><hr><center>nginx</center>"),
            "blocked",
        ),
        (
            "another country",
            200,
            bare("Not available", "<h1>Sorry, this content is not available in your region</h1>"),
            "blocked",
        ),
        (
            "another country, at length",
            200,
            bare(
                "Unavailable",
                "<h1>Unavailable in your country</h1><p>We're sorry. Because of data protection law we cannot show this site to visitors from the European Economic Area at this time.</p>",
            ),
            "blocked",
        ),
        ("a video", 200, framed("Film", "<p>This video is not available in your country.</p>"), "blocked"),
    )
)

MORE = tuple(
    (f"more: {number}", status, {}, html, "/x", states)
    for number, (states, status, html) in enumerate(
        (
            (
                "rate_limited",
                200,
                bare(
                    "Access denied | x.example used Cloudflare to restrict access",
                    "<h1>Error 1015</h1><h2>You are being rate limited</h2><p>The owner of this website (x.example) has banned you temporarily from accessing this website.</p><p>Cloudflare Ray ID: 1</p>",
                ),
            ),
            (
                "blocked",
                200,
                bare(
                    "Your access to this site has been limited",
                    "<h1>Your access to this site has been limited by the site owner</h1><p>Your access to this service has been limited. (HTTP response code 503)</p><p>Generated by Wordfence</p>",
                ),
            ),
            ("challenge blocked", 200, bare("", "Request unsuccessful. Incapsula incident ID: 123-456")),
            (
                "blocked",
                200,
                bare(
                    "Not Acceptable!",
                    "<h1>Not Acceptable!</h1><p>An appropriate representation of the requested resource could not be found on this server. This error was generated by Mod_Security.</p>",
                ),
            ),
            (
                "parked soft_404 unavailable",
                200,
                bare(
                    "Website Expired",
                    "<h1>Website Expired</h1><p>This account has expired. If you are the site owner, click below to login.</p>",
                ),
            ),
            (
                "parked login_wall unavailable",
                200,
                bare(
                    "Shop – Opening Soon",
                    "<h1>Opening soon</h1><p>Be the first to know when we launch.</p><input type=email><button>Notify me</button>",
                ),
            ),
            (
                "parked soft_404",
                200,
                bare(
                    "x.example",
                    "<h1>Looks Like This Domain Isn't Connected To A Website Yet</h1><p>Is this your domain? Connect it to your website in just a few easy steps.</p>",
                ),
            ),
            (
                "parked soft_404 unavailable",
                200,
                bare("No such app", "<h1>There's nothing here, yet.</h1><p>Build something amazing</p>"),
            ),
            (
                "soft_404 parked",
                200,
                bare(
                    "Site not found · GitHub Pages",
                    "<h1>404</h1><p><strong>There isn't a GitHub Pages site here.</strong></p><p>If you're trying to publish one, read the full documentation to learn how to set up GitHub Pages.</p>",
                ),
            ),
            (
                "soft_404",
                200,
                bare("404: NOT_FOUND", "<h1>404: NOT_FOUND</h1><p>Code: DEPLOYMENT_NOT_FOUND</p><p>ID: fra1::x</p>"),
            ),
            (
                "soft_404",
                200,
                bare(
                    "Page not found",
                    "<h1>Page not found</h1><p>Looks like you've followed a broken link or entered a URL that doesn't exist on this site.</p><p><a href=/>Back to our site</a></p>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "The mole",
                    "<h1>The mole</h1><p>The board met on Monday.</p><div class=paywall><p>Create your free account or log in to continue reading.</p></div>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "The mole",
                    "<h1>The mole</h1><p>The board met.</p><h3>To Read the Full Story</h3><p>Subscribe or Sign In</p>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "Die Mole",
                    "<h1>Die Mole</h1><p>Der Rat tagte.</p><h2>Diesen Artikel weiterlesen mit Plus</h2><p>Exklusiv für Abonnenten</p>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "Le môle",
                    "<h1>Le môle</h1><p>Le conseil.</p><p>Il vous reste 80% de cet article à lire. La suite est réservée aux abonnés.</p>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "El muelle", "<h1>El muelle</h1><p>El consejo se reunió.</p><h2>Suscríbete para seguir leyendo</h2>"
                ),
            ),
            (
                "paywall",
                200,
                framed("突堤", "<h1>突堤</h1><p>評議会は月曜日に開かれた。</p><p>この記事は会員限定です。</p>"),
            ),
            ("age_gate", 200, bare("Cerveza", "<h1>¿Eres mayor de edad?</h1><button>Sí</button><button>No</button>")),
            (
                "age_gate",
                200,
                bare(
                    "Adults only",
                    "<h1>This website contains adult material</h1><p>You must be at least 18 years old to enter.</p><button>I am 18 or older - Enter</button>",
                ),
            ),
            (
                "rate_limited",
                200,
                bare(
                    "Rate limit",
                    "<h1>Whoa there!</h1><p>You have exceeded a secondary rate limit. Please wait a few minutes before you try again.</p>",
                ),
            ),
            (
                "unavailable",
                200,
                bare("Gleich zurück", "<h1>Wir sind gleich zurück</h1><p>Die Seite wird gewartet.</p>"),
            ),
            (
                "unavailable",
                200,
                bare("Indisponible", "<h1>Site temporairement indisponible</h1><p>Veuillez réessayer plus tard.</p>"),
            ),
            (
                "unavailable",
                200,
                bare(
                    "Technical difficulties",
                    "<h1>We are experiencing technical difficulties</h1><p>Please try again later.</p>",
                ),
            ),
            (
                "unavailable",
                200,
                bare(
                    "x.example | 502: Bad gateway",
                    "<h1>Bad gateway <span>Error code 502</span></h1><p>What happened? The web server reported a bad gateway error.</p><p>Cloudflare Ray ID: 1</p>",
                ),
            ),
            (
                "unavailable",
                200,
                bare(
                    "Application error",
                    "<h1>Application error</h1><p>An error occurred in the application and your page could not be served. If you are the application owner, check your logs for details.</p>",
                ),
            ),
            (
                "js_shell",
                200,
                bare(
                    "X",
                    "<h1>JavaScript is not available.</h1><p>We've detected that JavaScript is disabled in this browser. Please enable JavaScript or switch to a supported browser to continue.</p><div id=react-root></div><script src=/a.js></script>",
                ),
            ),
            ("soft_404", 200, framed("Shop", "<h1>This listing is no longer available</h1>")),
            (
                "soft_404",
                200,
                framed(
                    "Content",
                    "<h1>This content isn't available right now</h1><p>When this happens, it's usually because the owner only shared it with a small group of people, changed who can see it or it's been deleted.</p>",
                ),
            ),
            (
                "soft_404",
                200,
                framed(
                    "Page",
                    "<h2>Sorry, this page isn't available.</h2><p>The link you followed may be broken, or the page may have been removed.</p>",
                ),
            ),
            (
                "soft_404",
                200,
                framed("Page", "<p>Hmm...this page doesn’t exist. Try searching for something else.</p>"),
            ),
            ("soft_404", 200, framed("Profile", "<h1>User not found</h1><p>There is no user with that name.</p>")),
            ("soft_404", 200, framed("Video", "<h1>Video unavailable</h1><p>This video isn't available anymore.</p>")),
            ("soft_404", 200, framed("Page", "<h1>The page you're looking for isn't here</h1>")),
            (
                "challenge",
                200,
                bare(
                    "Verifying your connection",
                    '<h1>Verifying your connection...</h1><p>Please wait while we check your browser.</p><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>',
                ),
            ),
            (
                "challenge",
                200,
                bare(
                    "reCAPTCHA",
                    "<p>Please confirm that you are not a robot.</p><form><div class=g-recaptcha></div><button>Continue</button></form>",
                ),
            ),
            ("challenge", 403, bare("Human check", '<div class="h-captcha"></div>')),
            (
                "login_wall",
                200,
                framed(
                    "Private",
                    "<h1>Members only</h1><p>Please log in to view this content.</p><form><input name=log><input type=password></form>",
                ),
            ),
            (
                "login_wall",
                200,
                bare(
                    "Sign in - Google Accounts",
                    "<h1>Sign in</h1><p>to continue to Drive</p><input type=email name=identifier><button>Next</button>",
                ),
            ),
            (
                "cookie_wall",
                200,
                bare(
                    "Cookies",
                    "<div role=dialog><h2>Allow the use of cookies from us on this browser?</h2><p>We use cookies and similar technologies to help provide content.</p><button>Allow all cookies</button><button>Decline optional cookies</button></div>",
                ),
            ),
            ("redirect js_shell", 200, '<html><head><script>location.href="/home"</script></head><body></body></html>'),
            (
                "blocked",
                200,
                bare(
                    "Blocked",
                    "<h1>Website blocked</h1><p>Access to this website is blocked by your network administrator.</p>",
                ),
            ),
            (
                "soft_404",
                200,
                framed("Oh dear", "<h1>Oh dear, this page has gone missing</h1><p>Let us take you home.</p>"),
            ),
            (
                "soft_404",
                200,
                framed("Shop", "<h1>We couldn't find that page</h1><p>Check the URL or try a search.</p>"),
            ),
            (
                "soft_404",
                200,
                framed(
                    "Page unavailable",
                    "<h1>The page you requested is no longer available</h1><p>Please use the navigation.</p>",
                ),
            ),
            ("soft_404", 200, framed("404", "<h1>404 - Page Not Found</h1><p>The page may have been moved.</p>")),
            ("soft_404", 200, framed("Error", "<h1>Whoops, page not found!</h1><p>Return to the homepage</p>")),
            (
                "soft_404",
                200,
                framed("Nicht da", "<h1>404 - Diese Seite wurde nicht gefunden</h1><p>Die Seite wurde verschoben.</p>"),
            ),
            ("soft_404", 200, framed("Erreur", "<h1>Erreur 404 : page non trouvée</h1><p>Retour à l'accueil</p>")),
            ("soft_404", 200, framed("Error 404", "<h1>¡Vaya! Página no encontrada</h1><p>Volver</p>")),
            ("soft_404", 200, framed("x", "<h1>Ops! Página não encontrada</h1><p>Voltar para a página inicial</p>")),
            (
                "soft_404",
                200,
                framed("x", "<h1>申し訳ありません。ページが見つかりませんでした</h1><p>URLをご確認ください</p>"),
            ),
            ("soft_404", 200, framed("x", "<h1>抱歉，页面不存在</h1><p>返回首页</p>")),
            ("soft_404", 200, framed("x", "<h1>Ошибка 404. Страница не найдена</h1><p>На главную</p>")),
            ("soft_404", 200, framed("x", "<h1>Errore 404 - Pagina non trovata</h1>")),
            ("soft_404", 200, framed("x", "<h1>The article you are looking for cannot be found</h1>")),
            (
                "soft_404",
                200,
                framed("x", "<h2>Sorry, this product is no longer available</h2><p>Take a look at similar ones.</p>"),
            ),
            (
                "login_wall",
                200,
                framed(
                    "Welcome back",
                    "<h1>Welcome back</h1><p>Please sign in to continue</p><form><input type=email><input type=password><button>Sign in</button></form>",
                ),
            ),
            (
                "login_wall",
                200,
                bare(
                    "Login - Jira", "<h1>Log in to Jira</h1><form><input name=os_username><input type=password></form>"
                ),
            ),
            (
                "challenge",
                200,
                bare(
                    "Attention Required! | Cloudflare",
                    '<h1>Please complete the security check to access x.example</h1><div class="cf-turnstile"></div><p>Cloudflare Ray ID: 1</p>',
                ),
            ),
            (
                "challenge",
                200,
                bare(
                    "Security Checkpoint",
                    '<p>Checking your browser...</p><script src="/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1"></script>',
                ),
            ),
            (
                "unavailable",
                200,
                bare("Scheduled maintenance", "<h1>We are down for maintenance</h1><p>Back at 10:00.</p>"),
            ),
            (
                "unavailable",
                200,
                bare(
                    "Site Maintenance",
                    "<h1>We&rsquo;ll be back soon!</h1><p>Sorry for the inconvenience but we&rsquo;re performing some maintenance.</p>",
                ),
            ),
            (
                "parked",
                200,
                bare(
                    "x.example",
                    '<h1>x.example</h1><p>This domain is registered, but may still be available.</p><a>Get this domain</a><script src="https://img1.wsimg.com/parking-lander/x.js"></script>',
                ),
            ),
            (
                "cookie_wall",
                200,
                bare(
                    "Cookies",
                    "<div><h2>Wir nutzen Cookies</h2><p>Bevor Sie fortfahren, brauchen wir Ihre Einwilligung.</p><button>Alle akzeptieren</button></div>",
                ),
            ),
            (
                "age_gate",
                200,
                bare(
                    "Wine",
                    "<h1>Welcome</h1><p>Are you of legal drinking age?</p><button>Yes, enter</button><button>No</button>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "The mole",
                    "<h1>The mole</h1><p>The board met on Monday.</p><p>This article is for subscribers only.</p><a>Subscribe</a>",
                ),
            ),
            (
                "paywall",
                200,
                framed(
                    "The mole",
                    '<h1>The mole</h1><p>The board met on Monday.</p><div class="c-paywall__message"><p>Become a member to read the full story</p></div>',
                ),
            ),
            (
                "rate_limited",
                200,
                bare("Error", "<h1>Rate limited</h1><p>You are being rate limited. Try again in 30 seconds.</p>"),
            ),
            (
                "blocked",
                200,
                bare("Forbidden", "<h1>Forbidden</h1><p>You don't have permission to access this resource.</p>"),
            ),
            (
                "js_shell",
                200,
                '<html><head><title>Admin</title></head><body><div id="root"><div class="splash"><img src=l.png></div></div><script type=module src=/a.js></script></body></html>',
            ),
        )
    )
)

ALL = (*SOFT_404, *CHALLENGES, *SHELLS, *LOGINS, *PAYWALLS, *GATES, *PARKED, *TROUBLE, *MORE)
