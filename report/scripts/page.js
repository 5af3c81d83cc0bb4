// Language and colour switches, and the interactive charts. Without this script the page shows its static drawings.
"use strict";
(() => {
  const root = document.documentElement;
  const { specs, dark } = JSON.parse(document.getElementById("charts").textContent);
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const languageButtons = [...document.querySelectorAll("[data-language]")];
  const themeButtons = [...document.querySelectorAll("[data-theme-choice]")];
  let language = languageButtons.find((button) => button.dataset.tag === root.lang).dataset.language;
  let drawing = 0;

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

  function coloured(spec) {
    let text = JSON.stringify(spec);
    if (isDark()) for (const [light, counterpart] of Object.entries(dark)) text = text.replaceAll(light, counterpart);
    return JSON.parse(text);
  }

  async function draw() {
    const turn = ++drawing;
    for (const chart of document.querySelectorAll("[data-chart]")) {
      const place = chart.querySelector(".interactive");
      place.hidden = false;
      try {
        const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { theme: "custom" } };
        const spec = coloured(specs[chart.dataset.chart][language]);
        spec.params[0].value = place.clientWidth; // labels and legends share what there is
        const result = await vegaEmbed(place, spec, options);
        if (turn !== drawing) return result.finalize();
        const svg = place.querySelector("svg");
        svg.setAttribute("aria-hidden", "true"); // the table below says the same in words
        svg.setAttribute("focusable", "false");
        chart.classList.add("live");
      } catch (error) {
        place.hidden = true;
        chart.classList.remove("live");
        console.error(`chart ${chart.dataset.chart}:`, error);
      }
    }
    root.dataset.drawn = String(turn);
  }

  function press(buttons, chosen) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
  }

  for (const button of languageButtons)
    button.addEventListener("click", () => {
      language = button.dataset.language;
      root.lang = button.dataset.tag;
      press(languageButtons, button);
      for (const element of document.querySelectorAll(`[data-aria-label-${language}]`))
        element.setAttribute("aria-label", element.getAttribute(`data-aria-label-${language}`));
      draw();
    });

  for (const button of themeButtons)
    button.addEventListener("click", () => {
      const choice = button.dataset.themeChoice;
      if (choice === "auto") delete root.dataset.theme;
      else root.dataset.theme = choice;
      press(themeButtons, button);
      draw();
    });
  prefersDark.addEventListener("change", () => root.dataset.theme || draw());

  // says in the contents where the reader is
  const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries)
        if (entry.isIntersecting) {
          for (const link of links.values()) link.removeAttribute("aria-current");
          links.get(entry.target.id).setAttribute("aria-current", "location");
        }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  for (const id of links.keys()) seen.observe(document.getElementById(id));

  // a number says where it comes from when the pointer rests on it
  document.addEventListener("mouseover", (event) => {
    const number = event.target.closest("[data-claim]");
    if (!number || number.title) return;
    const { claim, source, n } = number.dataset;
    number.title = [claim, source, n && `n = ${n}`].filter(Boolean).join(" · ");
  });

  draw();
})();
