// The document as HTML, the way it is shown: shadow trees in place of their hosts' children, slots filled, a mark where
// each frame is. Takes { most, bodyOnly, absolute, mark }; gives { title, html, type, tooLarge }. Walks without
// recursion, for documents nest as deep as they like, and stops as soon as there is too much.
({ most, bodyOnly, absolute, mark }) => {
  const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
  const LEFT_OUT = new Set(["style", "noscript", "template", "svg", "canvas", "noembed", "noframes", "object", "audio", "video"]);
  const RAW = new Set(["script", "xmp", "plaintext"]);
  const UNSEEN = /^(?:on|nonce$|integrity$|srcset$|sizes$|imagesrcset$|data-kb-frame$|shadowroot)/;
  const LINKS = new Set(["href", "src", "cite", "action"]);
  const MOST_VALUE = 4096, MOST_SCRIPT = 2000;
  const text = (value) => value.replace(/[&<>\u00a0]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\u00a0": "&nbsp;" })[c]);
  const quoted = (value) => text(value).replace(/"/g, "&quot;");
  let out = "";

  const address = (value) => {
    try { return new URL(value, document.baseURI).href; } catch { return value; }
  };
  const attributes = (element) => {
    let written = "";
    for (const { name, value } of element.attributes) {
      if (UNSEEN.test(name) || value.length > MOST_VALUE || !/^[a-z_:][a-z0-9_.:-]*$/i.test(name)) continue;
      if (LINKS.has(name) && /^\s*data:/i.test(value)) continue;
      written += ` ${name}="${quoted(absolute && LINKS.has(name) ? address(value) : value)}"`;
    }
    return written;
  };
  const script = (element) => {
    const type = element.getAttribute("type") || "";
    const source = element.textContent || "";
    const kept = /ld\+json/i.test(type) ? source : source.slice(0, MOST_SCRIPT);
    return `<script${attributes(element)}>${kept.replace(/<(?=[/!])/g, "<\\")}</script>`;
  };
  const isCharset = (element) =>
    element.hasAttribute("charset") || /^content-type$/i.test(element.getAttribute("http-equiv") || "");
  const children = (element) => {
    if (element.shadowRoot) return element.shadowRoot.childNodes;
    if (element.localName === "slot" && element.assignedNodes) {
      const assigned = element.assignedNodes({ flatten: true });
      if (assigned.length) return assigned;
    }
    return element.childNodes;
  };
  const open = (element, stack) => {
    const name = element.localName;
    if (LEFT_OUT.has(name) || (name === "meta" && isCharset(element))) return;
    if (name === "iframe" || name === "frame") {
      const token = element.getAttribute("data-kb-frame");
      if (token) out += `<!--${mark}${token}-->`;
      return;
    }
    if (name === "script") { out += script(element); return; }
    if (RAW.has(name)) { out += `<pre>${text(element.textContent || "")}</pre>`; return; }
    if (!/^[a-z][a-z0-9._-]*$/i.test(name)) { pushAll(children(element), stack); return; }
    const isSlot = name === "slot";
    if (!isSlot) out += `<${name}${attributes(element)}>`;
    if (VOID.has(name)) return;
    if (name === "pre" || name === "textarea") out += "\n";
    if (!isSlot) stack.push(`</${name}>`);
    pushAll(children(element), stack);
  };
  const pushAll = (nodes, stack) => {
    for (let i = nodes.length - 1; i >= 0; i--) stack.push(nodes[i]);
  };

  const stack = [];
  if (bodyOnly) {
    if (document.body) pushAll(children(document.body), stack);
  } else if (document.documentElement) {
    stack.push(document.documentElement);
  }
  while (stack.length && out.length <= most) {
    const node = stack.pop();
    if (typeof node === "string") out += node;
    else if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) out += text(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE) open(node, stack);
  }
  // The page may have put functions of its own in the place of those used here; the length of a string is its length.
  const short = (value) => { const said = `${value}`; return said.length > 500 ? "" : said; };
  const tooLarge = out.length > most;
  return { title: short(document.title), html: tooLarge ? "" : out, type: short(document.contentType), tooLarge };
}
