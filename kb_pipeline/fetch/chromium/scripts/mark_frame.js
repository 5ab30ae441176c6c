// Marks a frame element with its number for scripts/serialise.js, and says whether a visitor sees it. Gives { seen,
// title, source, said }.
(element, number) => {
  // The page may have put functions of its own in the place of String's: the length of a string is its length.
  const short = (value) => { const said = `${value || ""}`; return said.length > 500 ? "" : said; };
  element.setAttribute("data-kb-frame", number);
  const box = element.getBoundingClientRect();
  const view = element.ownerDocument.defaultView;
  const shown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const onPage = box.right + view.scrollX > 0 && box.bottom + view.scrollY > 0;
  const title = short(element.getAttribute("title"));
  const label = short(element.getAttribute("aria-label"));
  return {
    seen: !!(shown && onPage && box.width >= 40 && box.height >= 20),
    title,
    source: short(element.src),
    said: `${title} ${label} ${short(element.name)} ${short(element.id)}`,
  };
}
