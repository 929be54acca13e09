extension InspectorPage {
    /// The functions that the other scripts share. Texts become text nodes and attribute values, never markup.
    static let basics: StaticString = #"""
        "use strict";
        const $ = (id) => document.getElementById(id);

        const isContent = (child) => child !== null && child !== undefined && typeof child !== "boolean";
        const fill = (box, ...children) => box.replaceChildren(...children.flat().filter(isContent));

        const make = (tag, attributes = {}, ...children) => {
          const isPicture = ["svg", "rect", "text", "line", "g"].includes(tag);
          const element = isPicture ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
          for (const [name, value] of Object.entries(attributes)) {
            if (typeof value === "function") element.addEventListener(name, value);
            else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
          }
          fill(element, ...children);
          return element;
        };

        const read = async (path, method = "GET", body = undefined) => {
          const headers = { "X-Souk-Inspector": "1" };
          if (body !== undefined) headers["Content-Type"] = "application/json";
          const answer = await fetch("api/" + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
          const text = await answer.text();
          if (!answer.ok) throw new Error((text && JSON.parse(text).detail) || "The inspector answered " + answer.status + ".");
          return text;
        };
        const ask = async (method, path, body) => {
          const text = await read(path, method, body);
          return text ? JSON.parse(text) : null;
        };

        const sized = (bytes) => {
          if (bytes < 1000) return bytes + " B";
          const steps = ["kB", "MB", "GB"];
          let value = bytes, step = -1;
          do { value /= 1000; step += 1; } while (value >= 999.5 && step < 2);
          return (value < 10 ? value.toFixed(1) : Math.round(value)) + " " + steps[step];
        };
        const timed = (milliseconds) => {
          if (milliseconds < 0.005) return "0 ms";
          if (milliseconds < 1) return milliseconds.toFixed(2) + " ms";
          if (milliseconds < 1000) return (milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)) + " ms";
          return milliseconds < 60000 ? (milliseconds / 1000).toFixed(milliseconds < 10000 ? 2 : 1) + " s" : Math.round(milliseconds / 60000) + " min";
        };
        const clock = (instant) => {
          const date = new Date(instant), two = (number) => String(number).padStart(2, "0");
          return two(date.getHours()) + ":" + two(date.getMinutes()) + ":" + two(date.getSeconds()) + "." + String(date.getMilliseconds()).padStart(3, "0");
        };
        // Shortens a long text in its middle, because the end of a path is the most informative part.
        const middleCut = (text, limit) => text.length <= limit ? text : text.slice(0, Math.floor(limit / 3)) + "…" + text.slice(text.length - limit + Math.floor(limit / 3) + 1);

        // Splits a path into parts. The browser shortens the query first, then the leading segments, then the last one.
        const pathParts = (path) => {
          const mark = path.indexOf("?"), end = mark < 0 ? path.length : mark;
          const leaf = Math.max(path.lastIndexOf("/", end - 2), end - 24, 0);
          const parts = [["way", path.slice(0, leaf), 2], ["leaf", path.slice(leaf, end), 0], ["query", path.slice(end), 8]];
          return parts.filter(([, text]) => text !== "").map(([name, text, short]) =>
            make("span", { class: text.length <= short ? name + " short" : name }, make("bdi", { dir: "ltr" }, text)));
        };

        const plural = (count, noun) => count.toLocaleString("en") + " " + noun + (count === 1 ? "" : "s");

        const outcome = (record) => {
          if (record.state === "underway") return { word: "…", spoken: "under way", tone: "pending" };
          if (record.state === "failed") return { word: "fail", spoken: "no answer", tone: "bad" };
          const tones = { 2: "good", 3: "plain", 4: "warn", 5: "bad" };
          return { word: String(record.status), spoken: "status " + record.status, tone: tones[Math.floor(record.status / 100)] || "plain" };
        };
        const pill = (record) => {
          const { word, spoken, tone } = outcome(record);
          return make("span", { class: "pill " + tone, title: spoken }, word);
        };

        const say = (text) => { $("said").textContent = text; };

        const answerOn = async (button, work) => {
          const before = button.textContent;
          try {
            button.textContent = await work();
          } catch (error) {
            button.textContent = error.message;
          }
          say(button.textContent);
          setTimeout(() => { button.textContent = before; }, 2400);
        };
        const copy = (text, button) => answerOn(button, async () => {
          const found = await text;
          await navigator.clipboard.writeText(found).catch(() => { throw new Error("Could not copy"); });
          return "Copied";
        });

        const page = { state: { isRunning: true, canSend: false, hasTrace: false, florets: [], reports: [] }, trace: [], view: "traffic" };

        """#

    /// Live updates, the views and the navigation between them. The fragment of the address names the view, so that the
    /// browser's back and forward buttons work.
    static let liveScript: StaticString = #"""
        const live = { source: null, number: 0 };

        const connect = (position) => {
          if (live.source) live.source.close();
          const query = list.query();
          query.set("since", position);
          const source = new EventSource("api/updates?" + query);
          live.source = source;
          source.onopen = () => { $("connection").textContent = ""; };
          source.onerror = () => { $("connection").textContent = "Not connected"; };
          source.addEventListener("reset", () => start());
          source.addEventListener("changes", (event) => {
            const update = JSON.parse(event.data);
            if (update.isCleared) return start();
            list.take(update.records, update.gone);
            if (update.trace.length > 0) {
              page.trace = update.trace.reverse().concat(page.trace).slice(0, 1000);
              if (page.view === "hub") drawHub();
            }
            if (update.isStateChanged) readState();
            const chosen = detail.id;
            if (chosen && update.records.some((record) => record.id === chosen)) detail.refresh();
          });
        };

        const start = async () => {
          live.number += 1;
          const number = live.number;
          try {
            const position = await list.load();
            if (number === live.number) connect(position);
          } catch (error) {
            $("connection").textContent = error.message;
            setTimeout(() => { if (number === live.number) start(); }, 2000);
          }
        };

        const readState = async () => {
          page.state = await ask("GET", "state");
          const { isRunning, canSend, hasTrace } = page.state;
          const run = $("run");
          run.hidden = false;
          run.textContent = isRunning ? "Pause" : "Record";
          run.classList.toggle("main", !isRunning);
          $("compose").hidden = !canSend;
          document.querySelector("[data-view=hub]").hidden = !hasTrace;
          if (page.view === "florets") drawFlorets();
          list.sayEmpty();
        };

        const route = () => {
          const hash = location.hash.slice(1), found = /^record-([0-9A-Fa-f-]{36})$/.exec(hash);
          page.view = hash === "hub" || hash === "florets" ? hash : "traffic";
          document.querySelectorAll("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== page.view; });
          document.querySelectorAll("[data-view]").forEach((link) => {
            if (link.dataset.view === page.view) link.setAttribute("aria-current", "page");
            else link.removeAttribute("aria-current");
          });
          document.documentElement.classList.toggle("chosen", found !== null);
          if (page.view === "hub") drawHub();
          if (page.view === "florets") drawFlorets();
          detail.show(found ? found[1].toUpperCase() : null);
          list.draw();
        };

        const go = (hash, isReplacing = false) => {
          if ("#" + hash === location.hash) return;
          if (isReplacing) history.replaceState(null, "", "#" + hash);
          else history.pushState(null, "", "#" + hash);
          route();
        };

        addEventListener("hashchange", route);
        addEventListener("popstate", route);
        addEventListener("resize", () => list.draw());
        document.addEventListener("keydown", (event) => {
          const isWriting = /^(input|textarea|select)$/i.test(event.target.tagName);
          if (event.key === "/" && !isWriting && page.view === "traffic" && !$("send").open) { event.preventDefault(); $("text").focus(); }
          if (event.key === "Escape" && !$("send").open && detail.id) { go(""); $("list").focus(); }
        });
        $("run").addEventListener("click", async () => {
          page.state = await ask("POST", "state", { isRunning: !page.state.isRunning });
          readState();
        });
        $("clear").addEventListener("click", async () => { go(""); await ask("DELETE", "records"); start(); });
        $("compose").addEventListener("click", () => openSheet(null));

        const loadTrace = async () => { page.trace = (await ask("GET", "trace")).entries; };
        readState().then(() => page.state.hasTrace && loadTrace()).then(() => { if (page.view === "hub") drawHub(); });
        start();
        route();
        """#
}
