// Height of the page in CSS pixels.
() => (document.scrollingElement || document.documentElement).scrollHeight | 0
