// Scrolls what scrolls on the page, the page itself or its tallest part, one view down. Says whether there is more.
(step) => {
  const page = document.scrollingElement || document.documentElement;
  let target = page;
  if (page.scrollHeight <= innerHeight + 50) {
    const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowY);
    let most = innerHeight / 3;
    for (const element of document.querySelectorAll("main, div, section, article")) {
      if (element.clientHeight > most && element.scrollHeight > element.clientHeight + 50 && scrolls(element)) {
        most = element.clientHeight;
        target = element;
      }
    }
  }
  if (step < 0) { target.scrollTop = 0; return false; }
  const before = target.scrollTop;
  target.scrollTop = before + (target === page ? innerHeight : target.clientHeight);
  return target.scrollTop > before;
}
