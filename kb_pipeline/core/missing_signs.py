"""Words by which a page says that there is no such page: as its headline, beneath it, and in a sentence of its own.

In lower case and with straight apostrophes, as `core.page_facts` reads a page. `core.page_state` decides what they
mean together.
"""

# ruff: noqa: RUF001 - words of many languages

from __future__ import annotations

import re
from typing import Final

EXCLAMATIONS: Final = (
    "^(?:(?:oops(?: ?ie)?|o+ps|sorry|uh[- ]?oh|hmm+|who+ps|oh no|oh dear|ups|hoppla|oups|¡?vaya|抱歉|很抱歉|对不起"
    r"|申し訳(?:ありません|ございません)|죄송합니다|error|fehler|erreur|errore|erro|ошибка)[\s,.!:;、，。—–-]*)*"
)
_END: Final = r"[\s.!:?…。！]*$"
_PAGE: Final = "(?:(?:web)?page|site|url|address|document|file|content|resource|link)"
_THING: Final = (
    "(?:article|product|item|listing|post|story|entry|job(?: posting| listing| ad)?|position|event|offer|vacancy"
    "|user|profile|video|channel|recipe|course)"
)
_LOST: Final = (
    "(?:(?:(?:was|is|were|could|can|does)? ?not|(?:was|is|could|does)n't|can't|cannot)"
    " (?:be )?(?:found|available|exist)(?: anymore)?|(?:is |are )?no longer (?:available|exists?|active|here)"
    "|isn't (?:here|available)(?: right now| anymore)?|missing|has gone missing"
    "|(?:has|have) (?:been (?:removed|deleted|moved|discontinued|filled)|expired|moved))"
)


def _any(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


def _lost(thing: str) -> str:
    return rf"(?:this |that |the |requested |your )*{thing} (?:(?:that )?you(?:'re|'ve)? .{{3,40}} )?{_LOST}"


_NOT_FOUND: Final = _any(
    rf"(?:{_PAGE} ?)?not found",
    "file or directory not found",
    _lost(_PAGE),
    (
        "(?:we )?(?:can(?:no|')?t|could(?:n't| not)|(?:are|were) unable to) (?:seem to )?find"
        " (?:that|the|this|what|your) ?.{0,40}"
    ),
    "(?:there(?:'s| is) )?nothing (?:here|found|was found|to see here)",
    "no (?:results|matches|documents|pages)(?: were)? found",
    (
        "(?:die |diese )?seite (?:wurde |ist |konnte )?(?:leider )?nicht (?:mehr )?"
        "(?:gefunden(?: werden)?|vorhanden|verfügbar)"
    ),
    "(?:die |diese )?seite existiert (?:leider )?nicht(?: mehr)?",
    "diese seite gibt es (?:leider )?nicht(?: mehr)?",
    "nicht gefunden",
    "(?:la |esta )?página no (?:encontrada|existe|disponible|se encuentra|se ha encontrado|está disponible)",
    "no se (?:ha )?encontr(?:ó|ado) (?:la|esta) página",
    "(?:a |esta )?página não (?:encontrada|existe|foi encontrada|disponível)",
    "(?:la |cette )?page (?:demandée )?(?:est )?(?:non trouvée|introuvable|inexistante)",
    "(?:la |cette )?page (?:demandée |que vous .{3,30} )?n'existe (?:pas|plus)",
    "(?:la )?pagina .{0,20}(?:non trovata|inesistente|non esiste|non disponibile)",
    "(?:deze |de )?pagina (?:werd |is |kon )?(?:helaas )?niet (?:gevonden|worden gevonden|beschikbaar)",
    "(?:deze |de )?pagina bestaat (?:helaas )?niet(?: meer)?",
    "pagina nu (?:a fost găsită|există)",
    "sidan (?:kunde inte hittas|hittades inte|finns inte)",
    "siden (?:blev |ble )?ikke (?:fundet|funnet)",
    "siden (?:findes|finnes|eksisterer) ikke",
    "(?:vi )?fant ikke siden|(?:vi )?kunne ikke finde siden",
    "sivua ei (?:löytynyt|löydy|ole)",
    "nie znaleziono(?: strony)?",
    "strona nie (?:została znaleziona|istnieje)|nie ma takiej strony",
    "(?:tato )?stránka (?:nenalezena|nebyla nalezena|neexistuje|sa nenašla|nebola nájdená)",
    "страница не (?:найдена|существует)|такой страницы (?:нет|не существует)",
    "сторінк[ау] не (?:знайдено|існує)",
    "страницата не (?:е намерена|съществува)",
    "stranica nije pronađena|страница није пронађена",
    "stran ni (?:bila )?najdena|strani ni mogoče najti",
    "puslapis nerastas|lapa nav atrasta|(?:lehekülge|lehte) ei leitud",
    "(?:aradığınız )?sayfa (?:bulunamadı|mevcut değil)",
    "(?:az |a keresett )?oldal nem (?:található|létezik)",
    "η σελίδα δεν (?:βρέθηκε|υπάρχει)",
    "pàgina no trobada|no s'ha trobat la pàgina|páxina non atopada",
    "(?:この|指定された|お探しの|ご指定の)?ページ(?:が|は)(?:見つかりません|存在しません|ありません)(?:でした)?",
    "(?:您|你)?(?:要?(?:访问|訪問|查看|瀏覽|浏览|查找))?的?(?:页面|網頁|网页|頁面)(?:未找到|不存在|找不到|没有找到|已删除)",
    "(?:找不到|未找到)(?:该|此|您要的)?(?:页面|頁面|網頁|网页)",
    "(?:요청하신 |찾으시는 )?페이지(?:를|가|을) (?:찾을 수 없습니다|찾을 수 없어요|존재하지 않습니다)",
    "halaman tidak (?:ditemukan|ada)",
    "không tìm thấy trang.{0,20}|trang không tồn tại",
    "الصفحة (?:المطلوبة )?غير موجودة|لم يتم العثور على الصفحة",
    "הדף לא נמצא|העמוד לא נמצא|صفحه (?:مورد نظر )?(?:یافت|پیدا) نشد",
    "ไม่พบหน้า.*",
    "(?:पेज|पृष्ठ) नहीं मिला",
)
_CODE: Final = rf"(?:http |error |code )*4(?:04|10)\b[\s:,.|—–-]*(?:error|{_PAGE}|oops.*)?[\s:,.|—–!¡-]*"
HEADLINE: Final = re.compile(rf"{EXCLAMATIONS}(?:{_CODE}|(?:{_CODE})?{EXCLAMATIONS[1:]}{_NOT_FOUND}){_END}")
"""A whole headline that says so: "Peugeot 404 history" and "How to build a 404 page" do not."""
THING_HEADLINE: Final = re.compile(
    rf"{EXCLAMATIONS}(?:{_lost(_THING)}|{_THING} (?:not found|unavailable)|no (?:products|posts) found){_END}"
)
"""The same of an article, a product or a job. Below a headline with the name of the thing it is a note about it."""

BENEATH: Final = re.compile(
    _any(
        "you(?:'re|'ve| are| were| have)? (?:looking for|requested|tried|followed|entered|typed|clicked|want)",
        "sorry|oops|apologi[sz]e|unfortunately",
        "(?:may|might|could|has|have) (?:have )?(?:been )?(?:moved|removed|deleted|renamed|changed)",
        "(?:does not|doesn't|no longer|not) exists?|(?:isn't|is not) available|there is(?:n't| no)|been deleted",
        "on this server|home ?page|(?:go|return|back|head) (?:back )?to (?:the |our )?(?:home|main|front|start)",
        "try (?:searching|a search|again|using|the)|check (?:the|your) (?:url|address|link|spelling)",
        "use the (?:search|menu|navigation)|searching can help|other offers",
        "tut uns leid|entschuldigung|leider|existiert nicht|startseite|suchfunktion|prüfen sie die",
        "désolé|n'existe p(?:as|lus)|introuvable|page d'accueil|déplacée|supprimée",
        "lo sentimos|no existe|página de inicio|eliminada|al inicio",
        "desculpe|não existe|página inicial|spiacenti|non esiste|helaas|bestaat niet|startpagina",
        "tyvärr|finns inte|desværre|beklager|findes ikke|finnes ikke|valitettavasti",
        "przepraszamy|nie istnieje|je nám líto|neexistuje|ľutujeme|sajnáljuk|nem létezik|ne pare rău|nu există",
        "к сожалению|не существует|на жаль|не існує|съжаляваме|žao nam je|ne postoji|λυπούμαστε|δεν υπάρχει",
        "üzgünüz|mevcut değil|お探し|存在しません|抱歉|不存在|죄송|존재하지|maaf|không tồn tại",
        "عذر|غير موجودة|מצטערים|ขออภัย|क्षमा|ho sentim",
    )
)
"""What such a page goes on with: it speaks to the visitor. A page about such pages explains instead."""

_GONE: Final = (
    "(?:not (?:be )?found|(?:does not|doesn't|no longer) exists?|(?:is |are )?no longer available"
    "|(?:may|might|has|have) (?:have )?(?:been )?(?:moved|removed|deleted|renamed))"
)
SENTENCE: Final = re.compile(
    _any(
        rf"{_PAGE} (?:that |which )?you (?:are|were|have|requested|tried|asked)\b[^.!?]{{0,40}}?{_GONE}",
        rf"(?:the |this )?requested {_PAGE} (?:(?:was|could|can|is) ?not (?:be )?found|{_GONE})",
        "(?:we|i) (?:can't|cannot|couldn't|could not) (?:seem to )?find (?:the|that|this) page",
        "(?:did not|didn't) match any (?:documents|results|products|pages)",
        (
            "(?:von ihnen |gewünschte |angeforderte |aufgerufene |gesuchte )+seite[^.!?]{0,40}"
            "(?:nicht (?:gefunden|verfügbar)|existiert (?:leider )?nicht)"
        ),
        "page (?:demandée|que vous)[^.!?]{0,40}(?:n'existe p(?:as|lus)|introuvable)",
        "página (?:que (?:busca|você)|solicitada)[^.!?]{0,40}(?:no existe|não existe)",
        "pagina (?:che (?:cerchi|stai)|richiesta)[^.!?]{0,40}non esiste",
        "pagina die (?:u|je)[^.!?]{0,40}bestaat niet",
    )
)
"""A sentence that tells the visitor so, in a page of next to nothing else."""
