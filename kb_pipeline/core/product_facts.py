"""What a product page states of its product for machines: price, brand and numbers, which the page may show nowhere or
only where nobody looks for them. Schema.org's Product, as JSON-LD or as `itemprop` attributes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_VALUE: Final = 80
_MOST_PRODUCTS: Final = 2
"""A page that describes more is a list of products."""
_LABELS: Final = {"price": "Price", "brand": "Brand", "sku": "SKU", "mpn": "MPN", "gtin": "GTIN"}
_GTIN: Final = ("gtin", "gtin8", "gtin12", "gtin13", "gtin14")
_ALIASES: Final = {**dict.fromkeys(_GTIN, "gtin"), "lowprice": "price", "productid": "sku"}
MARKED: Final = frozenset({*_LABELS, *_ALIASES})
"""Values of `itemprop`, in lower case, that state a fact."""

Fact = tuple[str, str]


def product_facts(objects: Iterable[Mapping[str, Any]], marked: Sequence[Fact]) -> tuple[Fact, ...]:
    """(label, value) of the page's one product; none for a page about several, or about none."""
    products = [found for found in objects if _is_product(found)]
    facts: dict[str, str] = {}
    if 0 < len({str(found.get("name")) for found in products}) <= _MOST_PRODUCTS:
        for name, value in _stated(products[0]):
            if value:
                facts.setdefault(name, value)
    for name in _LABELS:
        values = {value for found, value in marked if _ALIASES.get(found, found) == name and value}
        if len(values) == 1:
            facts.setdefault(name, values.pop())
    kept = ((name, " ".join(value.split())) for name, value in facts.items())
    return tuple((_LABELS[name], value) for name, value in kept if 0 < len(value) <= MAX_VALUE)


def missing_facts(facts: Iterable[Fact], text: str) -> list[Fact]:
    """Those whose value the text does not have as whole words."""
    lower = text.lower()
    return [fact for fact in facts if not re.search(rf"(?<!\w){re.escape(fact[1].lower())}(?!\w)", lower)]


def _is_product(found: Mapping[str, Any]) -> bool:
    kinds = found.get("@type")
    named = kinds if isinstance(kinds, list) else [kinds]
    return any(kind in {"Product", "ProductGroup", "IndividualProduct"} for kind in named)


def _stated(product: Mapping[str, Any]) -> Iterator[Fact]:
    offers = product.get("offers")
    offer = offers[0] if isinstance(offers, list) and offers else offers
    if isinstance(offer, dict):
        price = _scalar(offer.get("price")) or _scalar(offer.get("lowPrice"))
        if price:
            yield "price", f"{price} {_scalar(offer.get('priceCurrency'))}"
    brand = product.get("brand")
    yield "brand", _scalar(brand.get("name") if isinstance(brand, dict) else brand)
    for name in ("sku", "mpn", *_GTIN):
        yield (
            _ALIASES.get(name, name),
            _scalar(product.get(name)) or (_scalar(offer.get(name)) if isinstance(offer, dict) else ""),
        )


def _scalar(value: object) -> str:
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
