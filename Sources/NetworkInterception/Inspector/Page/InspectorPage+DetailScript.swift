extension InspectorPage {
    /// The script of the view of one record.
    static let detailScript: StaticString = #"""
        const detail = {
          id: null,
          number: 0,
          waiting: 0,

          show(id) {
            if (id === this.id) return;
            this.id = id;
            if (id === null) {
              fill($("detail"), make("p", { class: "notice soft" }, "Choose a request to see its details."));
              return;
            }
            this.read(true);
          },

          refresh() { clearTimeout(this.waiting); this.waiting = setTimeout(() => this.read(false), 120); },

          async read(isOther) {
            // The choice may have changed before a refresh runs.
            if (this.id === null) return;
            const number = ++this.number, box = $("detail");
            let content;
            try {
              content = this.draw(await ask("GET", "records/" + this.id));
            } catch (error) {
              content = [make("p", { class: "back" }, make("a", { href: "#" }, "All requests")), make("p", { class: "notice" }, error.message)];
            }
            if (number !== this.number || this.id === null) return;
            const isFocused = box.contains(document.activeElement) && document.activeElement !== box;
            if (!isOther && isFocused) return;
            fill(box, content);
            if (isOther) box.scrollTop = 0;
          },

          draw(record) {
            const facts = [
              record.timing.started ? clock(record.timing.started) : null,
              record.milliseconds === undefined ? null : timed(record.milliseconds),
              record.size === undefined ? null : sized(record.size), record.type,
            ].filter(Boolean).join(" · ");
            const actions = [
              make("button", { type: "button", click: (event) => copy(record.curl, event.target) }, "Copy as cURL"),
              make("button", { type: "button", click: (event) => copy(read("records/" + record.id + "/postman"), event.target) }, "Copy as Postman"),
              record.curlFile && make("a", { class: "button", href: "api/records/" + record.id + "/designated", download: true }, "Download " + record.curlFile),
              record.canMock && make("button", { type: "button", click: (event) => answerOn(event.target, async () => {
                const { floret, isEnabled } = await ask("POST", "records/" + record.id + "/mock", {});
                return isEnabled ? "Answered by " + floret + " from now on" : "Mocked, but " + floret + " is off";
              }) }, "Mock this answer"),
              record.canResend && make("button", { type: "button", click: () => openSheet(record) }, "Edit and resend"),
            ].filter(Boolean);
            return [
              make("p", { class: "back" }, make("a", { href: "#" }, "All requests")),
              make("div", { class: "title" }, pill(record), make("h2", { title: record.url }, record.method + " " + middleCut(record.path, 160))),
              make("p", { class: "soft facts" }, make("span", {}, record.host), make("span", {}, facts)),
              make("div", { class: "actions" }, actions),
              record.error && make("p", { class: "fault" }, record.error),
              this.waterfall(record.timing.phases),
              this.changes(record),
              this.response(record),
              this.message("Request", record.original, record.id, "original"),
              this.signed(record.signed || []),
              this.hub(record),
            ];
          },

          waterfall(phases) {
            const total = phases.length > 0 ? phases[phases.length - 1].to : 0;
            if (total <= 0) return null;
            const names = { florets: "Florets", waiting: "Waiting for the answer", "answered by a floret": "Answered by a floret", body: "Reading the body" };
            const spoken = phases.map((phase) => names[phase.name] + " " + timed(phase.to - phase.from)).join(", ");
            const picture = make("svg", { role: "img", "aria-label": spoken, class: "waterfall", width: "100%", height: phases.length * 34 });
            phases.forEach((phase, index) => {
              const share = (milliseconds) => (100 * milliseconds / total).toFixed(2) + "%", top = index * 34;
              picture.append(
                make("text", { x: 0, y: top + 13 }, names[phase.name]),
                make("text", { x: "100%", y: top + 13, class: "end" }, timed(phase.to - phase.from)),
                make("rect", { x: 0, y: top + 20, width: "100%", height: 6, rx: 3, class: "ground" }),
                make("rect", { x: share(Math.min(phase.from, total * 0.99)), y: top + 20, width: share(Math.max(phase.to - phase.from, total / 150)), height: 6, rx: 3, class: "bar p" + index }));
            });
            return make("section", { "aria-labelledby": "timing-title" }, make("h3", { id: "timing-title" }, "Timing"), picture);
          },

          changes(record) {
            const words = { changedRequest: "changed the request", answered: "answered", failed: "made it fail", changedResponse: "changed the answer" };
            if (record.changes.length === 0 && !record.difference) return null;
            const items = record.changes.map((change) => make("li", {}, make("strong", {}, change.floret), " " + (words[change.kind] || change.kind)));
            const tags = { " ": "span", "-": "del", "+": "ins" };
            const lines = (record.difference || []).map(([kind, text]) => make(tags[kind], {}, kind + " " + text));
            return make("section", { "aria-labelledby": "change-title", class: "change" }, make("h3", { id: "change-title" }, "Changes by florets"),
              items.length > 0 && make("ul", { class: "plain" }, items),
              lines.length > 0 && make("div", { class: "code diff", role: "region", tabindex: "0", "aria-label": "Difference between the original and the sent request" }, lines));
          },

          response(record) {
            if (!record.response) return null;
            return this.message("Response", record.response, record.id, "response");
          },

          message(title, message, id, part) {
            const key = title.toLowerCase();
            const rows = message.headers.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
            const headers = rows.length === 0 ? make("p", { class: "soft" }, "No headers.")
              : make("details", { open: rows.length <= 12 }, make("summary", {}, plural(rows.length, "header")),
                make("table", { class: "headers", "aria-label": title + " headers" }, make("tbody", {}, rows)));
            return make("section", { "aria-labelledby": key + "-title", class: "message" }, make("h3", { id: key + "-title" }, title),
              part === "original" && make("p", { class: "code url" }, message.method + " " + message.url), headers, this.body(message.body, title, id, part));
          },

          body(body, title, id, part) {
            if (body.kind === "empty" && body.passed === 0) return make("p", { class: "soft" }, "No body.");
            const ends = { underway: "It is still being read.", failed: "The transfer failed.", cancelled: "The reader cancelled." };
            const notes = [
              sized(body.passed), body.encoding && "encoded as " + body.encoding, ends[body.end],
              body.isCut && "Only the first " + sized(body.bytes) + " were recorded.",
            ].filter(Boolean).join(" · ");
            const text = body.text, first = text.length > 20000 ? text.slice(0, 20000) : text;
            const code = make("pre", { class: "code body", tabindex: "0", role: "region", "aria-label": title + " body" }, ...this.coloured(first, body.kind));
            const all = first.length < text.length && make("button", { type: "button", click: (event) => { code.textContent = text; event.target.remove(); } }, "Show all " + sized(text.length));
            return make("div", {}, make("p", { class: "soft facts" }, make("span", {}, notes),
              body.bytes > 0 && make("a", { href: "api/records/" + id + "/" + part, download: true }, "Download"),
              body.kind !== "binary" && text && make("button", { type: "button", class: "link", click: (event) => copy(text, event.target) }, "Copy")),
              code, all, body.isShortened && make("p", { class: "soft" }, "The rest is in the download."));
          },

          coloured(text, kind) {
            if (kind !== "json") return [text];
            const parts = [], token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
            let last = 0;
            for (const found of text.matchAll(token)) {
              parts.push(text.slice(last, found.index));
              const tone = found[2] !== undefined ? "name" : found[1] ? "string" : "number";
              parts.push(make("span", { class: "t-" + tone }, found[1] || found[0]), found[2] || "");
              last = found.index + found[0].length;
            }
            parts.push(text.slice(last));
            return parts;
          },

          signed(texts) {
            if (texts.length === 0) return null;
            const code = (name, text) => [make("h4", {}, name), make("pre", { class: "code body", tabindex: "0", role: "region", "aria-label": name }, ...this.coloured(text, "json"))];
            return make("section", { "aria-labelledby": "signed-title", class: "message signed" }, make("h3", { id: "signed-title" }, "Signed payloads"),
              texts.map((text, index) => make("details", { open: index === 0 }, make("summary", {}, text.title),
                make("p", { class: "soft" }, text.notice), code("Header", text.header), code("Claims", text.claims))));
          },

          hub(record) {
            if (!record.started || page.trace.length === 0) return null;
            const end = record.started + (record.milliseconds || 0) + 50;
            const near = page.trace.filter((entry) => entry.at >= record.started - 50 && entry.at <= end).slice(0, 30);
            if (near.length === 0) return null;
            return make("section", { "aria-labelledby": "meanwhile-title" }, make("h3", { id: "meanwhile-title" }, "Hub messages during the request"),
              make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": "Hub messages during the request" }, traceTable(near)));
          },
        };

        """#
}
