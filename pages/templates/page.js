// Folded parts open where a link leads to them. Browser of cases: filters, sorting and keys; its state is in the address,
// so that a view can be shared. The cases are in the document; the script hides, sorts and opens them, and never turns a
// text into markup.
"use strict";
(() => {
  const menu = document.querySelector("nav details");
  menu?.addEventListener("click", (event) => { if (event.target.closest("a")) menu.open = false; });
  function unfold() {
    const target = location.hash.includes("?") ? null : document.getElementById(location.hash.slice(1));
    const folded = target?.closest("details") ?? target?.querySelector(":scope > details.folded");
    if (folded && !folded.open) { folded.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", unfold);
  unfold();
})();
(() => {
  const list = document.getElementById("list");
  if (!list) return;
  const get = (id) => document.getElementById(id);
  const fields = ["find", "run", "change", "human", "judge", "theme", "sort", "least", "orders", "scored"].map(get).filter(Boolean);
  const cases = [...list.children].map((item, place) => ({
    item, place,
    details: item.querySelector("details"),
    summary: item.querySelector("summary"),
    certainty: item.dataset.certainty === "" ? null : Number(item.dataset.certainty),
    words: null,
  }));
  const orders = {
    "": (a, b) => a.place - b.place,
    uncertain: (a, b) => (a.certainty ?? 2) - (b.certainty ?? 2) || a.place - b.place,
    id: (a, b) => a.item.dataset.id.localeCompare(b.item.dataset.id, "en", { numeric: true }) || a.place - b.place,
  };
  const FEW = 12;  // cases shown at first
  let visible = cases;
  let shortened = true;
  let restoring = false;

  const value = (field) => (field.type === "checkbox" ? (field.checked ? "1" : "") : field.value);
  const isSet = (field) => value(field) !== "" && !(field === get("least") && value(field) === "0");
  const openCase = () => cases.find((entry) => entry.details.open);

  function matches(entry, filters) {
    const data = entry.item.dataset;
    if (["run", "change", "human", "judge"].some((name) => filters[name] && data[name] !== filters[name])) return false;
    if (filters.theme && !data.themes.split("|").includes(filters.theme)) return false;
    if (filters.least > 0 && !(entry.certainty !== null && entry.certainty >= filters.least / 100 - 1e-9)) return false;
    if (filters.orders && data.orders !== "1") return false;
    if (filters.scored && data.status === "unscored") return false;
    if (!filters.find) return true;
    entry.words ??= entry.item.textContent.toLowerCase();
    return filters.find.toLowerCase().split(/\s+/).every((word) => entry.words.includes(word));
  }

  function show() {
    const filters = Object.fromEntries(fields.map((field) => [field.id, value(field).trim()]));
    for (const entry of cases) entry.item.hidden = !matches(entry, filters);
    const ordered = [...cases].sort(orders[filters.sort] ?? orders[""]);
    if (ordered.some((entry, place) => list.children[place] !== entry.item)) list.append(...ordered.map((entry) => entry.item));
    visible = ordered.filter((entry) => !entry.item.hidden);
    const rest = shortened && get("all") ? visible.slice(FEW) : [];
    for (const entry of rest) entry.item.hidden = true;
    if (get("all")) {
      get("all").hidden = rest.length === 0;
      get("all").textContent = `Show all ${visible.length} cases`;
    }
    const set = fields.filter(isSet).length;
    if (get("set")) {
      get("set").hidden = set === 0;
      get("set").textContent = `${set} set`;
    }
    get("shown").textContent = `${visible.length} of ${cases.length} cases`;
    get("least-value").textContent = `${filters.least} %`;
    get("none").hidden = visible.length > 0;
  }

  function showAll() {
    if (!shortened) return;
    shortened = false;
    show();
  }

  function remember() {
    if (restoring) return;
    const state = new URLSearchParams();
    for (const field of fields) if (isSet(field)) state.set(field.id, value(field));
    const open = openCase();
    if (open) state.set("case", String(open.place + 1));
    history.replaceState(null, "", state.size ? `#cases?${state}` : "#cases");
  }

  function restore() {
    const linked = cases.find((entry) => `#${entry.item.id}` === location.hash);
    if (linked) {
      if (linked.item.hidden) { clear(); shortened = false; show(); }
      openOnly(linked);
      linked.item.scrollIntoView({ block: "start" });
      linked.summary.focus({ preventScroll: true });
    }
    if (!location.hash.startsWith("#cases?")) return;
    const state = new URLSearchParams(location.hash.slice("#cases?".length));
    restoring = true;
    for (const field of fields) {
      const stored = state.get(field.id) ?? (field === get("least") ? "0" : "");
      if (field.type === "checkbox") field.checked = stored === "1";
      else field.value = stored;
      if (field.value === "" && field.tagName === "SELECT") field.selectedIndex = 0;
    }
    show();
    const entry = cases[Number(state.get("case")) - 1];
    if (entry?.item.hidden && visible.includes(entry)) showAll();
    for (const other of cases) other.details.open = other === entry;
    (entry && !entry.item.hidden ? entry.item : get("cases")).scrollIntoView();
    setTimeout(() => { restoring = false; });
  }

  function clear() {
    for (const field of fields) {
      if (field.type === "checkbox") field.checked = false;
      else if (field.tagName === "SELECT") field.selectedIndex = 0;
      else field.value = field === get("least") ? "0" : "";
    }
  }

  function openOnly(entry) {
    const others = cases.filter((other) => other !== entry && other.details.open);
    for (const other of others) other.details.open = false;
    entry.details.open = true;
    return others.length > 0;
  }

  function go(step) {
    if (!visible.length) return;
    const focused = visible.findIndex((entry) => entry.item.contains(document.activeElement));
    const open = visible.findIndex((entry) => entry.details.open);
    const from = focused >= 0 ? focused : open;
    if (from + step >= FEW) showAll();
    const next = visible[from < 0 ? 0 : Math.min(visible.length - 1, Math.max(0, from + step))];
    if (open >= 0) openOnly(next);
    next.summary.focus({ preventScroll: true });
    next.item.scrollIntoView({ block: open >= 0 ? "start" : "nearest" });
  }

  for (const field of fields) field.addEventListener("input", () => { show(); remember(); });
  get("reset").addEventListener("click", () => {
    clear();
    show();
    remember();
  });
  get("all")?.addEventListener("click", () => {
    const first = visible[FEW];
    showAll();
    first?.summary.focus({ preventScroll: true });
  });
  if (get("filters") && matchMedia("(max-width: 640px)").matches) get("filters").open = false;
  for (const entry of cases) {
    entry.details.addEventListener("toggle", () => {
      if (entry.details.open && !restoring && openOnly(entry)) entry.item.scrollIntoView({ block: "start" });
      remember();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input:not([type=range],[type=checkbox]), select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "j" || event.key === "k") go(event.key === "j" ? 1 : -1);
    else if (event.key === "/") {
      if (get("filters")) get("filters").open = true;
      get("find").focus();
    }
    else if (event.key === "Escape" && openCase()) {
      const entry = openCase();
      entry.details.open = false;
      entry.summary.focus();
    } else return;
    event.preventDefault();
  });
  window.addEventListener("hashchange", restore);
  show();
  restore();
})();
