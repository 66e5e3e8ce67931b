// The browser of disagreements: filters, order, keys, and all of it in the address so that a view can be shared.
// The cases stand in the document; this only hides, orders and opens them, and never makes markup of a text.
"use strict";
(() => {
  const list = document.getElementById("list");
  if (!list) return;
  const get = (id) => document.getElementById(id);
  const fields = ["find", "run", "people", "judge", "sort", "least", "swayed", "scored"].map(get).filter(Boolean);
  const cases = [...list.children].map((item, place) => ({
    item, place,
    details: item.querySelector("details"),
    summary: item.querySelector("summary"),
    certainty: item.dataset.certainty === "" ? null : Number(item.dataset.certainty),
    words: null,
  }));
  const orders = {
    "": (a, b) => a.place - b.place,
    unsure: (a, b) => (a.certainty ?? 2) - (b.certainty ?? 2) || a.place - b.place,
    id: (a, b) => a.item.dataset.id.localeCompare(b.item.dataset.id, "en", { numeric: true }) || a.place - b.place,
  };
  let visible = cases;
  let restoring = false;

  const value = (field) => (field.type === "checkbox" ? (field.checked ? "1" : "") : field.value);
  const isSet = (field) => value(field) !== "" && !(field === get("least") && value(field) === "0");
  const openCase = () => cases.find((one) => one.details.open);

  function matches(one, wanted) {
    const data = one.item.dataset;
    if (["run", "people", "judge"].some((name) => wanted[name] && data[name] !== wanted[name])) return false;
    if (wanted.least > 0 && !(one.certainty !== null && one.certainty >= wanted.least / 100 - 1e-9)) return false;
    if (wanted.swayed && data.swayed !== "1") return false;
    if (wanted.scored && data.status === "unscored") return false;
    if (!wanted.find) return true;
    one.words ??= one.item.textContent.toLowerCase();
    return wanted.find.toLowerCase().split(/\s+/).every((word) => one.words.includes(word));
  }

  function show() {
    const wanted = Object.fromEntries(fields.map((field) => [field.id, value(field).trim()]));
    for (const one of cases) one.item.hidden = !matches(one, wanted);
    const ordered = [...cases].sort(orders[wanted.sort] ?? orders[""]);
    if (ordered.some((one, place) => list.children[place] !== one.item)) list.append(...ordered.map((one) => one.item));
    visible = ordered.filter((one) => !one.item.hidden);
    get("shown").textContent = `${visible.length} of ${cases.length} cases`;
    get("least-told").textContent = `${wanted.least} %`;
    get("none").hidden = visible.length > 0;
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
    if (!location.hash.startsWith("#cases?")) return;
    const state = new URLSearchParams(location.hash.slice("#cases?".length));
    restoring = true;
    for (const field of fields) {
      const wanted = state.get(field.id) ?? (field === get("least") ? "0" : "");
      if (field.type === "checkbox") field.checked = wanted === "1";
      else field.value = wanted;
      if (field.value === "" && field.tagName === "SELECT") field.selectedIndex = 0;
    }
    show();
    const one = cases[Number(state.get("case")) - 1];
    for (const other of cases) other.details.open = other === one;
    (one && !one.item.hidden ? one.item : get("cases")).scrollIntoView();
    setTimeout(() => { restoring = false; });
  }

  function openOnly(one) {
    const others = cases.filter((other) => other !== one && other.details.open);
    for (const other of others) other.details.open = false;
    one.details.open = true;
    return others.length > 0;
  }

  function go(step) {
    if (!visible.length) return;
    const here = visible.findIndex((one) => one.item.contains(document.activeElement));
    const open = visible.findIndex((one) => one.details.open);
    const from = here >= 0 ? here : open;
    const next = visible[from < 0 ? 0 : Math.min(visible.length - 1, Math.max(0, from + step))];
    if (open >= 0) openOnly(next);
    next.summary.focus({ preventScroll: true });
    next.item.scrollIntoView({ block: open >= 0 ? "start" : "nearest" });
  }

  for (const field of fields) field.addEventListener("input", () => { show(); remember(); });
  get("reset").addEventListener("click", () => {
    for (const field of fields) {
      if (field.type === "checkbox") field.checked = false;
      else if (field.tagName === "SELECT") field.selectedIndex = 0;
      else field.value = field === get("least") ? "0" : "";
    }
    show();
    remember();
  });
  for (const one of cases) {
    one.details.addEventListener("toggle", () => {
      if (one.details.open && !restoring && openOnly(one)) one.item.scrollIntoView({ block: "start" });
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
    else if (event.key === "/") get("find").focus();
    else if (event.key === "Escape" && openCase()) {
      const one = openCase();
      one.details.open = false;
      one.summary.focus();
    } else return;
    event.preventDefault();
  });
  window.addEventListener("hashchange", restore);
  show();
  restore();
})();
