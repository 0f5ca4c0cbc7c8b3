// Everything works without this script.
"use strict";

// The search box of a list looks while one types, and keeps the focus.
for (const form of document.querySelectorAll("form[role=search]")) {
  const box = form.querySelector("input");
  let timer;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => form.requestSubmit(), 600);
  });
  if (box.value) {
    box.focus();
    box.setSelectionRange(box.value.length, box.value.length);
  }
}
