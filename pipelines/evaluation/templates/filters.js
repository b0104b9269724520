const filters = document.getElementById("filters");
if (filters) {
  const boxes = [...filters.querySelectorAll("input")], names = [...new Set(boxes.map((box) => box.name))];
  const parts = [...document.querySelectorAll(names.map((name) => `[data-${name}]`).join(","))];
  // Charts leave out rows of what is not ticked; values that are no choice of the filter stay.
  const hidden = (name, value) => boxes.some((box) => box.name === name && box.value === value && !box.checked);
  const apply = () => {
    const kept = {};
    for (const name of names) kept[name] = new Set(boxes.filter((box) => box.name === name && box.checked).map((box) => box.value));
    // What says nothing of a filter is shown whatever is chosen.
    for (const part of parts) part.hidden = names.some((name) => name in part.dataset && !kept[name].has(part.dataset[name]));
    document.dispatchEvent(new CustomEvent("filtered", {detail: (row) => names.some((name) => name in row && hidden(name, row[name]))}));
    const cut = names.filter((name) => boxes.some((box) => box.name === name && !box.checked));
    filters.querySelector("output").textContent =
      cut.map((name) => `Shown of ${name}: ${[...kept[name]].join(", ") || "nothing"}.`).join(" ");
  };
  filters.addEventListener("change", apply);
  filters.addEventListener("reset", () => setTimeout(apply));
  // A browser that comes back to a page remembers what was ticked.
  window.addEventListener("pageshow", apply);
}
