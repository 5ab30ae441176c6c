"""Laws of the cookies of a chain, on whatever a site may say."""

from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.fetch.cookies import ChainCookies
from kb_pipeline.fetch.guard import Guard

GUARD = Guard()
OCTETS = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=300)
ATTRIBUTES = st.lists(
    st.tuples(st.sampled_from(["Domain", "Path", "Expires", "Max-Age", "Secure", "x"]), OCTETS).map("=".join),
    max_size=4,
)
DATES = st.builds("Mon, {} Jan {} {}:00:{} {}".format, *[st.integers()] * 4, st.one_of(st.integers(), st.just("GMT")))


@given(st.lists(st.tuples(OCTETS, ATTRIBUTES).map(lambda line: ";".join([line[0], *line[1]]))))
def test_whatever_is_set_is_kept_within_bounds_or_not_at_all(lines):
    cookies = ChainCookies()
    target = GUARD.check_url("https://a.shop.example/x/y?z")
    cookies.take(target, lines)
    header = cookies.header(target)
    assert len(header) <= 8192 + 3 * len(lines)
    assert not set(header) & set("\r\n\0")


@given(DATES)
def test_no_date_is_too_odd_to_be_read(date):
    cookies = ChainCookies()
    cookies.take(GUARD.check_url("http://a.example/"), [f"k=v; Expires={date}"])
    assert len(cookies) in {0, 1}


@given(OCTETS, st.sampled_from(["evil.example", "b.shop.example", "shop.example", "1.2.3.4"]))
def test_no_cookie_reaches_a_host_that_is_not_under_its_domain(domain, other):
    cookies = ChainCookies()
    cookies.take(GUARD.check_url("http://a.shop.example/"), [f"k=v; Domain={domain}"])
    if cookies.header(GUARD.check_url(f"http://{other}/")):
        assert domain.strip(" \t").lstrip(".").lower() == "shop.example"
        assert other.endswith("shop.example")
