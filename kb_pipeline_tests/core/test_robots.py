from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.robots import MAX_BYTES, Robots, RobotsAccess, access_of

BOT = "KbBot"
paths = st.text(alphabet="abc/*$%.", max_size=12).map("/{}".format)
rules = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), paths), max_size=8)


def robots(*lines: str) -> Robots:
    return Robots.parse("\n".join(lines).encode())


def allowed(file: Robots, path: str, token: str = BOT) -> bool:
    return file.allows(token, f"https://example.com{path}")


def text_of(group):
    return "\n".join(f"{name}: {path}" for name, path in group)


@given(rules, paths)
def test_the_order_of_rules_does_not_matter(group, path):
    forward = robots("User-agent: *", text_of(group))
    backward = robots("User-agent: *", text_of(reversed(group)))
    assert allowed(forward, path) == allowed(backward, path)


@given(rules, rules, paths)
def test_groups_of_one_crawler_are_one_group(first, second, path):
    split = robots(
        "User-agent: kbbot",
        text_of(first),
        "Disallow:",
        "User-agent: other",
        "Disallow: /",
        "User-agent: KBBOT",
        text_of(second),
    )
    merged = robots("User-agent: kbbot", text_of(first), text_of(second))
    assert allowed(split, path) == allowed(merged, path)


@given(rules, paths)
def test_a_group_of_ones_own_hides_the_group_of_all(group, path):
    file = robots("User-agent: *", text_of(group), "User-agent: KbBot", "Allow: /x")
    assert allowed(file, path)


@given(
    rules,
    paths,
    st.sampled_from(["", "noise without meaning", "# a comment", "Host: example.com", "\0\1", "Sitemap: /s.xml"]),
)
def test_a_line_that_is_no_rule_changes_nothing(group, path, noise):
    lines = ["User-agent: *", *(f"{name}: {rule}" for name, rule in group)]
    noisy = [line for pair in ((line, noise) for line in lines) for line in pair]
    assert allowed(robots(*noisy), path) == allowed(robots(*lines), path)


@given(rules, paths, st.sampled_from(["\r\n", "\r", "\n"]), st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_line_ends_and_a_byte_order_mark_change_nothing(group, path, line_end, mark):
    text = f"User-agent: *\n{text_of(group)}\n"
    other = Robots.parse(mark + text.replace("\n", line_end).encode())
    assert allowed(other, path) == allowed(Robots.parse(text.encode()), path)


@given(st.binary(max_size=400))
def test_any_bytes_are_read(body):
    file = Robots.parse(body)
    file.allows(BOT, "https://example.com/x")
    file.crawl_delay(BOT)
    file.sitemaps("https://example.com/robots.txt")


def test_the_longest_match_decides_and_allow_wins_a_tie():
    file = robots("User-agent: *", "Disallow: /docs", "Allow: /docs/public", "Disallow: /same", "Allow: /same")
    assert not allowed(file, "/docs/x")
    assert allowed(file, "/docs/public/x")
    assert allowed(file, "/same")


def test_stars_and_dollar_signs_have_their_meaning_and_escapes_have_none():
    file = robots("User-agent: *", "Disallow: /*.php$", "Disallow: /a*b*c", "Disallow: /price%24", "Disallow: /one$")
    assert not allowed(file, "/x/y.php")
    assert allowed(file, "/x/y.php?z")
    assert not allowed(file, "/a--b--cd")
    assert allowed(file, "/a--c--b")
    assert not allowed(file, "/price$")
    assert allowed(file, "/price")
    assert not allowed(file, "/one")
    assert allowed(file, "/one/more")


def test_percent_encoding_is_compared_as_octets():
    file = robots("User-agent: *", "Disallow: /caf\u00e9", "Disallow: /%7ejoe", "Disallow: /a%2fb")
    assert not allowed(file, "/caf%C3%A9")
    assert not allowed(file, "/~joe")
    assert not allowed(file, "/a%2Fb")
    assert allowed(file, "/a/b")


def test_a_crawl_delay_is_read_and_ends_no_group():
    file = robots("User-agent: a", "Crawl-delay: 5", "User-agent: b", "Disallow: /x")
    assert file.crawl_delay("a") == 5
    assert file.crawl_delay("b") is None
    assert not allowed(file, "/x", "a")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon", ""])
def test_a_senseless_crawl_delay_is_none(value):
    assert robots("User-agent: *", f"Crawl-delay: {value}").crawl_delay(BOT) is None


def test_sitemap_lines_are_resolved_and_other_schemes_are_dropped():
    file = robots(
        "Sitemap: /s.xml", "User-agent: *", "sitemap : https://cdn.example/t.xml # main", "Sitemap: ftp://x/y"
    )
    assert file.sitemaps("https://example.com/robots.txt") == ("https://example.com/s.xml", "https://cdn.example/t.xml")


def test_robots_txt_itself_may_always_be_read():
    assert allowed(robots("User-agent: *", "Disallow: /"), "/robots.txt")


def test_what_lies_beyond_the_limit_is_not_read():
    filler = b"# " + b"x" * 98 + b"\n"
    body = b"User-agent: *\nDisallow: /early\n" + filler * (MAX_BYTES // len(filler) + 1) + b"Disallow: /late\n"
    file = Robots.parse(body)
    assert not allowed(file, "/early")
    assert allowed(file, "/late")


def test_a_rule_that_the_limit_cuts_is_no_rule():
    opening = b"User-agent: *\nDisallow: /early\n#"
    line = b"\nDisallow: /private\n"
    for inside in range(1, len(line) - 1):
        body = opening + b"x" * (MAX_BYTES - len(opening) - inside) + line
        file = Robots.parse(body + b"Allow: /\n")
        assert not allowed(file, "/early")
        assert allowed(file, "/other")
        assert allowed(file, "/private") or inside == len(line) - 1


def test_a_rule_that_ends_at_the_limit_is_a_rule():
    opening = b"User-agent: *\n#"
    line = b"\nDisallow: /private"
    body = opening + b"x" * (MAX_BYTES - len(opening) - len(line)) + line
    for end in (b"", b"\n", b"\r\nAllow: /private\n"):
        assert not allowed(Robots.parse(body + end), "/private")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_another_encoding_is_read(encoding):
    file = Robots.parse("User-agent: *\r\nDisallow: /gru\u00df\r\n".encode(encoding))
    assert not allowed(file, "/gru%C3%9F")
    assert allowed(file, "/gr")


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: " + b"/*a" * 170_000,
        b"".join(b"User-agent: a%d\n" % n for n in range(17_000)) + b"Disallow: /x\n" * 17_000,
        b"User-agent: *\n" + b"".join(b"Disallow: /%d/*/%d$\n" % (n, n) for n in range(20_000)),
    ],
    ids=["many stars", "agents times rules", "many wildcards"],
)
def test_a_hostile_file_is_read_to_its_end(body):
    file = Robots.parse(body)
    assert allowed(file, "/" + "b/" * 1_000)
    assert allowed(file, "/b", "a7")


@pytest.mark.parametrize(
    ("status", "body", "access"),
    [
        (200, b"User-agent: *", RobotsAccess.PARSE),
        (206, b"User-agent: *", RobotsAccess.PARSE),
        (200, b" \r\n", RobotsAccess.ALLOW_ALL),
        (204, b"", RobotsAccess.ALLOW_ALL),
        (404, b"User-agent: *", RobotsAccess.ALLOW_ALL),
        (403, b"", RobotsAccess.ALLOW_ALL),
        (301, b"", RobotsAccess.ALLOW_ALL),
        (304, b"", RobotsAccess.KEEP_CACHED),
        (429, b"", RobotsAccess.UNAVAILABLE),
        (503, b"User-agent: *", RobotsAccess.UNAVAILABLE),
        (999, b"User-agent: *", RobotsAccess.UNAVAILABLE),
        (None, b"", RobotsAccess.UNAVAILABLE),
    ],
)
def test_the_answer_for_robots_txt_has_its_meaning(status, body, access):
    assert access_of(status, body) is access
