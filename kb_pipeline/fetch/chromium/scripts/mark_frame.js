// Marks a frame element with a token for scripts/serialise.js, and says whether a visitor sees it.
(element, token) => {
  element.setAttribute("data-kb-frame", token);
  const box = element.getBoundingClientRect();
  const view = element.ownerDocument.defaultView;
  const shown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const onPage = box.right + view.scrollX > 0 && box.bottom + view.scrollY > 0;
  const said = ["title", "aria-label", "name", "id"].map((name) => (element.getAttribute(name) || "").slice(0, 200));
  return { seen: shown && onPage && box.width >= 40 && box.height >= 20, title: said[0], source: `${element.src || ""}`, said: said.join(" ") };
}
