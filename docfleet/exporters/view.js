"use strict";
(() => {
  const parts = new Map();
  for (const part of document.querySelectorAll("[data-block]")) {
    const id = part.dataset.block;
    if (!parts.has(id)) parts.set(id, []);
    parts.get(id).push(part);
  }
  const light = (part, on) => {
    for (const other of parts.get(part.dataset.block)) other.classList.toggle("lit", on);
  };
  const text = (part) => parts.get(part.dataset.block).find((other) => other.classList.contains("block"));
  for (const [name, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(name, (event) => {
      const part = event.target.closest("[data-block]");
      if (part) light(part, on);
    });
  }
  document.addEventListener("click", (event) => {
    const box = event.target.closest(".box");
    const block = box && text(box);
    if (!block) return;
    const layer = block.closest("details");
    if (layer) layer.open = true;
    block.scrollIntoView({ block: "center", behavior: "smooth" });
    block.focus({ preventScroll: true });
  });
})();
