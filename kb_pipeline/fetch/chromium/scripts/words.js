// The visible words, with as little of what the page may have spoilt as can be. Gives { title, words }.
(most) => {
  const short = (value, length) => { const said = `${value || ""}`; return said.length > length ? "" : said; };
  return { title: short(document.title, 500), words: short(document.body && document.body.innerText, most) };
}
