// Runs in every document before its own scripts: what would stop or leave the page does nothing, closed shadow roots
// are open to us, and changes of the document are counted.
(() => {
  const nothing = () => undefined;
  const put = (name, value) => {
    try { Object.defineProperty(window, name, { value, configurable: true, writable: true }); } catch { /* stays */ }
  };
  put("open", () => null);
  put("close", nothing);
  put("print", nothing);
  put("alert", nothing);
  put("confirm", () => false);
  put("prompt", () => null);
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) {
    try { delete window[name]; } catch { /* stays */ }
  }
  const attachShadow = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    return attachShadow.call(this, { ...options, mode: "open" });
  };
  const changes = { count: 0 };
  Object.defineProperty(window, Symbol.for("kb.changes"), { value: changes });
  new MutationObserver((records) => { changes.count += records.length; })
    .observe(document, { childList: true, subtree: true, characterData: true });
})();
