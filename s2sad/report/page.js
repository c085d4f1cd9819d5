"use strict";
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = dark.matches ? "dark" : "light";
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });

  const note = document.getElementById("note");
  const lines = [...document.querySelectorAll(".line")];
  const flows = [...document.querySelectorAll(".flow")];
  let held = null;

  const counterparts = (line) =>
    line.dataset.links.split(" ").filter(Boolean).map((id) => document.getElementById(id)).filter(Boolean);

  function clear() {
    for (const element of [...lines, ...flows]) element.classList.remove("lit", "held");
    note.textContent = "";
  }

  function light(line, strong) {
    clear();
    if (!line) return;
    const others = counterparts(line);
    for (const element of [line, ...others]) element.classList.add(strong ? "held" : "lit");
    const own = line.id.startsWith("p") ? [line] : others;
    const keys = new Set(own.map((element) => element.id));
    for (const flow of flows) {
      if (keys.has(flow.dataset.from) || keys.has(flow.dataset.to)) flow.classList.add("lit");
    }
    note.textContent = own.map((element) => element.dataset.note || "").filter(Boolean).join("; ");
  }

  function reveal(element) {
    const pane = element.closest(".pane");
    const box = element.getBoundingClientRect();
    const frame = pane.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) {
      pane.scrollTop += box.top - frame.top - frame.height / 3;
    }
  }

  function hold(line) {
    held = held === line ? null : line;
    light(held || line, Boolean(held));
    for (const pane of document.querySelectorAll(".pane")) {
      const first = held && counterparts(held).find((other) => pane.contains(other));
      if (first) reveal(first);
    }
  }

  function step(line, key) {
    const pane = line.closest(".pane");
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const side = document.getElementById(key === "ArrowLeft" ? "primal" : "derivative");
      if (side === pane) return line;
      return counterparts(line).find((other) => side.contains(other)) || side.querySelector(".line");
    }
    const own = [...pane.querySelectorAll(".line")];
    const at = own.indexOf(line) + (key === "ArrowDown" ? 1 : -1);
    return own[Math.min(Math.max(at, 0), own.length - 1)];
  }

  for (const line of lines) {
    line.addEventListener("mouseenter", () => { if (!held) light(line, false); });
    line.addEventListener("mouseleave", () => { if (!held) clear(); });
    line.addEventListener("click", () => { line.focus({ preventScroll: true }); hold(line); });
    line.addEventListener("focus", () => { if (!held) light(line, false); });
  }

  document.addEventListener("keydown", (event) => {
    const at = document.activeElement;
    const pane = at.closest ? at.closest(".pane") : null;
    if (event.key === "Escape") { held = null; clear(); return; }
    if (!pane) return;
    const line = at.classList.contains("line") ? at : null;
    if (event.key.startsWith("Arrow")) {
      const next = line ? step(line, event.key) : pane.querySelector(".line");
      event.preventDefault();
      if (next) { held = null; next.focus({ preventScroll: true }); reveal(next); light(next, false); }
    } else if (event.key === "Enter" && line) {
      hold(line);
    }
  });
})();
