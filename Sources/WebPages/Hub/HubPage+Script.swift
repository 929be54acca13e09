extension HubPage {
    /// Shows the plugin that the fragment of the address names, so that the browser's back and forward buttons work.
    /// The script reads numbers and text from the document and never writes markup.
    static let script: StaticString = """
        (() => {
          "use strict";
          const root = document.documentElement, all = (selector) => Array.from(document.querySelectorAll(selector));
          const boxes = all(".box"), lines = all(".line"), details = all(".detail"), entries = all(".plugins li");
          const search = document.querySelector("#search"), output = document.querySelector("output");
          const map = document.querySelector(".map"), aside = document.querySelector("aside"), canvas = document.querySelector(".canvas");
          let chosen = null, cameFrom = null;

          const reveal = (box) => {
            const seen = canvas.getBoundingClientRect(), area = box.getBoundingClientRect();
            if (area.left < seen.left || area.right > seen.right) canvas.scrollLeft += area.left - seen.left - (seen.width - area.width) / 2;
            if (area.top < seen.top || area.bottom > seen.bottom) canvas.scrollTop += area.top - seen.top - (seen.height - area.height) / 2;
          };
          const isSeen = (box) => {
            const seen = canvas.getBoundingClientRect(), area = box.getBoundingClientRect();
            return area.left < seen.right && area.right > seen.left && area.top < seen.bottom && area.bottom > seen.top;
          };

          const highlight = (isLineOn, alsoOn) => {
            const on = new Set(alsoOn);
            lines.forEach((line) => {
              const isOn = isLineOn(line);
              line.classList.toggle("on", isOn);
              if (isOn) line.dataset.ends.split(" ").forEach((plugin) => on.add(plugin));
            });
            boxes.forEach((box) => box.classList.toggle("on", on.has(box.dataset.plugin)));
          };

          const choose = () => {
            const found = /^#plugin-(\\d+)$/.exec(location.hash);
            chosen = found && details.some((section) => section.dataset.plugin === found[1]) ? found[1] : null;
            root.classList.toggle("chosen", chosen !== null);
            details.forEach((section) => section.classList.toggle("shown", section.dataset.plugin === chosen));
            boxes.forEach((box) => {
              box.classList.toggle("chosen", box.dataset.plugin === chosen);
              if (box.dataset.plugin === chosen) box.setAttribute("aria-current", "true");
              else box.removeAttribute("aria-current");
            });
            if (chosen !== null && search.value) { search.value = ""; filter(); }
            map.classList.toggle("picking", chosen !== null);
            highlight((line) => line.dataset.ends.split(" ").includes(chosen), chosen === null ? [] : [chosen]);
            aside.scrollTop = 0;
            const box = boxes.find((box) => box.dataset.plugin === chosen);
            if (box) reveal(box);
            const isBelow = matchMedia("(max-width: 96rem)").matches;
            if (chosen !== null && isBelow && cameFrom !== null) aside.scrollIntoView({ behavior: "smooth", block: "start" });
            // Moves the focus, because the link that was chosen in the panel is now hidden.
            if (cameFrom === "panel") {
              const heading = chosen === null ? null : document.getElementById("name-" + chosen);
              if (heading) heading.focus({ preventScroll: true });
              else if (entries[0]) entries[0].querySelector("a").focus({ preventScroll: true });
            }
            cameFrom = null;
          };

          const filter = () => {
            const wanted = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
            const matches = (element) => wanted.every((word) => element.dataset.words.includes(word));
            const hits = entries.filter((entry) => {
              entry.hidden = !matches(entry);
              return !entry.hidden;
            });
            document.querySelector(".none").hidden = hits.length > 0;
            output.textContent = wanted.length === 0 ? "" : hits.length + " of " + entries.length + " plugins match";
            map.classList.toggle("picking", wanted.length > 0);
            highlight((line) => wanted.length > 0 && matches(line), hits.map((entry) => entry.dataset.plugin));
          };

          // Does not follow the link, because the page would scroll.
          const go = (hash, origin) => {
            cameFrom = origin;
            if (hash !== location.hash) history.pushState(null, "", hash);
            choose();
          };

          const deselect = () => {
            const last = cameFrom === "panel" ? null : boxes.find((box) => box.dataset.plugin === chosen);
            if (search.value) { search.value = ""; filter(); }
            if (chosen !== null) go("#", cameFrom);
            if (last) last.focus({ preventScroll: true });
          };

          const nearest = (box, key) => {
            const place = (element) => {
              const area = element.querySelector("rect").getBoundingClientRect();
              return [area.left + area.width / 2, area.top + area.height / 2];
            };
            const [x, y] = place(box), sideways = key === "ArrowLeft" || key === "ArrowRight";
            const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
            let best = null, least = Infinity;
            boxes.forEach((other) => {
              const [otherX, otherY] = place(other);
              const ahead = sign * (sideways ? otherX - x : otherY - y), off = Math.abs(sideways ? otherY - y : otherX - x);
              if (other !== box && ahead > 1 && ahead + 2 * off < least) { least = ahead + 2 * off; best = other; }
            });
            return best;
          };

          document.addEventListener("click", (event) => {
            const link = event.target.closest("a[href^='#']");
            if (!link) return;
            event.preventDefault();
            if (link.getAttribute("href") === "#overview") { cameFrom = "panel"; deselect(); }
            else go(link.getAttribute("href"), link.classList.contains("box") ? "picture" : "panel");
          });
          document.addEventListener("keydown", (event) => {
            if (event.key === "Escape") deselect();
            const box = event.target.closest ? event.target.closest(".box") : null;
            if (!box) return;
            if (event.key === " ") { event.preventDefault(); go(box.getAttribute("href"), "picture"); }
            if (!event.key.startsWith("Arrow")) return;
            const next = nearest(box, event.key);
            event.preventDefault();
            if (next) next.focus();
          });
          search.addEventListener("input", () => {
            const text = search.value;
            search.value = "";
            if (chosen !== null) go("#", null);
            search.value = text;
            filter();
          });
          search.form.addEventListener("submit", (event) => {
            event.preventDefault();
            const first = entries.find((entry) => !entry.hidden);
            if (first && search.value) go("#plugin-" + first.dataset.plugin, "panel");
          });
          addEventListener("hashchange", choose);
          addEventListener("popstate", choose);
          root.classList.add("live");
          choose();
          if (boxes.length > 0 && !boxes.some(isSeen)) reveal(boxes[0]);
        })();
        """
}
