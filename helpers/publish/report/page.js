// Opens and closes: the contents on narrow screens, all code of a notebook; marks the section in view.
"use strict";
{
  const menu = document.querySelector(".menu");
  menu.addEventListener("click", () => {
    const open = menu.getAttribute("aria-expanded") !== "true";
    menu.setAttribute("aria-expanded", open);
    document.body.classList.toggle("open", open);
  });
  document.getElementById("nav").addEventListener("click", (event) => {
    if (event.target.closest(".toc a") && document.body.classList.contains("open")) menu.click();
  });
  document.documentElement.classList.add("js");

  const all = document.getElementById("code");
  all?.addEventListener("click", () => {
    const open = all.getAttribute("aria-pressed") !== "true";
    all.setAttribute("aria-pressed", open);
    all.textContent = open ? "Hide all code" : "Show all code";
    for (const code of document.querySelectorAll("details.code")) code.open = open;
  });

  const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [link.hash.slice(1), link]));
  const headings = [...document.querySelectorAll("main :is(h2, h3)[id]")].filter((heading) => links.has(heading.id));
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const now = passed.at(-1);
    for (const [id, link] of links) link.classList.toggle("here", now !== undefined && id === now.id);
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting || !headings.length) return;
    waiting = true;
    requestAnimationFrame(() => { mark(); waiting = false; });
  }, { passive: true });
}
