"use strict";
// Filters, keys and the color scheme. The page is whole without it: nothing is fetched, and no text becomes markup.
(() => {
  const root = document.documentElement;
  const find = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const on = (element, event, act) => element && element.addEventListener(event, act);
  // Where a browser gives a file no storage, a choice lasts as long as the page.
  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const store = (key, value) => { try { localStorage.setItem(key, value); } catch { /* see above */ } };

  all("[data-script]").forEach((element) => { element.hidden = false; });

  // --- The color scheme
  const themes = ["system", "light", "dark"];
  const theme = find("#theme");
  const setTheme = (name) => {
    if (name === "system") delete root.dataset.theme;
    else root.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
    store("review-theme", name);
  };
  if (themes.includes(recall("review-theme"))) setTheme(recall("review-theme"));
  on(theme, "click", () => setTheme(themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length]));

  const findings = all("[data-finding]");
  const files = all("[data-file]");
  const form = find("#filters");
  const search = find("#search");

  // --- Filters
  const texts = new Map();
  const textOf = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const severities = new Set(all("[name=severity]:checked").map((box) => box.value));
    const [category, status, file] = ["category", "status", "file"].map((name) => form.elements.namedItem(name).value);
    let shown = 0;
    const inFiles = new Set();
    for (const finding of findings) {
      const own = finding.dataset.files.split(" ");
      const matches = severities.has(finding.dataset.severity)
        && (!category || finding.dataset.category === category)
        && (!status || finding.dataset.status === status)
        && (!file || own.includes(file))
        && words.every((word) => textOf(finding).includes(word));
      finding.hidden = !matches;
      if (!matches) continue;
      shown += 1;
      own.forEach((number) => inFiles.add(number));
    }
    for (const group of all("[data-group]")) group.hidden = !group.querySelector("[data-finding]:not([hidden])");
    for (const one of files) {
      const number = one.dataset.file;
      const path = one.querySelector(".path");
      one.hidden = file ? number !== file : !inFiles.has(number) && !words.every((word) => textOf(path).includes(word));
    }
    find("#nothing").hidden = shown > 0;
    find("#count").textContent = `${shown} of ${findings.length} findings`;
  };
  on(form, "input", apply);
  on(form, "submit", (event) => event.preventDefault());
  const reset = () => { form.reset(); apply(); };
  on(find("#clear"), "click", reset);
  // On a phone the findings come first.
  if (form && matchMedia("(max-width: 48rem)").matches) find("#choices").open = false;

  // --- Going to a finding or a file
  const show = (element) => {
    const closed = element.closest("details");
    if (closed) closed.open = true;
    const target = element.matches("details") ? element.querySelector("summary") : element;
    element.scrollIntoView({ block: "start" });
    target.focus({ preventScroll: true });
  };
  const showNamed = () => {
    const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!named || !named.matches("[data-finding], [data-file]")) return;
    if (named.closest("[hidden]")) reset();
    show(named);
  };
  on(window, "hashchange", showNamed);
  // A link to where the page already is changes no address.
  on(document, "click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) setTimeout(showNamed);
  });
  showNamed();

  const step = (list, by) => {
    const visible = list.filter((element) => !element.closest("[hidden]"));
    if (!visible.length) return;
    const here = document.activeElement && document.activeElement.closest("[data-finding], [data-file]");
    let at = visible.indexOf(here);
    if (at < 0) {
      // From wherever the reader is: the first one below the top of the window, or the last one above it.
      const below = visible.findIndex((element) => element.getBoundingClientRect().top > 70);
      const next = below < 0 ? visible.length : below;
      at = by > 0 ? next - 1 : next;
    }
    show(visible[Math.min(Math.max(at + by, 0), visible.length - 1)]);
  };

  // --- Keys
  const help = find("#help");
  const shortcuts = find("#shortcuts");
  const openHelp = () => help.showModal();
  on(find("#keys"), "click", openHelp);
  on(find("#close"), "click", () => help.close());
  if (shortcuts) shortcuts.checked = recall("review-keys") !== "off";
  on(shortcuts, "change", () => store("review-keys", shortcuts.checked ? "on" : "off"));
  const keys = {
    j: () => step(findings, 1),
    k: () => step(findings, -1),
    n: () => step(files, 1),
    p: () => step(files, -1),
    "/": () => { if (form) { find("#choices").open = true; search.focus(); search.select(); } },
    "?": () => help && openHelp(),
  };
  on(document, "keydown", (event) => {
    if (event.key === "Escape" && document.activeElement === search && search) {
      search.blur();
      return;
    }
    const isTyping = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey || help?.open || !(shortcuts?.checked)) return;
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });
})();
