extension InspectorPage {
    /// The list: all that is selected is known, only what is on the screen is drawn.
    static let listScript: StaticString = #"""
        const list = {
          records: [],        // newest first
          known: new Map(),
          rows: new Map(),    // drawn, by place
          height: 56,
          limit: 20000,
          isLoading: false,
          drawing: 0,
          number: 0,

          query() {
            const query = new URLSearchParams();
            for (const name of ["text", "method", "status"]) {
              const value = $(name).value.trim();
              if (value) query.set(name, value);
            }
            return query;
          },

          // Answers the position to listen from as soon as the newest are there; the rest follows.
          async load() {
            const number = ++this.number;
            this.isLoading = true;
            const query = this.query();
            query.set("format", "har");
            $("export").setAttribute("href", "api/export?" + query);
            const first = await this.fetchPage(null);
            if (number !== this.number) return first.position;
            this.records = [];
            this.known = new Map();
            this.append(first.records);
            this.draw(true);
            this.loadRest(number, first.next);
            return first.position;
          },

          async loadRest(number, next) {
            while (next && this.records.length < this.limit) {
              const more = await this.fetchPage(next).catch(() => ({ records: [], next: null }));
              if (number !== this.number) return;
              this.append(more.records);
              next = more.next;
              this.draw();
            }
            this.isLoading = false;
            this.sayCount();
            say(this.records.length > 0 ? $("count").textContent : $("empty").textContent);
          },

          fetchPage(after) {
            const query = this.query();
            query.set("limit", after ? "1000" : "200");
            if (after) query.set("after", after);
            return ask("GET", "records?" + query);
          },

          append(records) {
            for (const record of records) {
              if (this.known.has(record.id)) continue;
              this.known.set(record.id, record);
              this.records.push(record);
            }
          },

          // What is new comes to the top, what is known changes in its place.
          take(records, gone) {
            const fresh = [];
            for (const record of records) {
              const known = this.known.get(record.id);
              if (known) {
                for (const name of Object.keys(known)) delete known[name];
                Object.assign(known, record, { isNew: true });
              } else {
                this.known.set(record.id, record);
                fresh.push(record);
              }
            }
            if (gone.some((id) => this.known.has(id))) {
              gone.forEach((id) => this.known.delete(id));
              this.records = this.records.filter((record) => this.known.has(record.id));
            }
            if (fresh.length > 0) {
              const box = $("list"), isAtTop = box.scrollTop < this.height / 2;
              this.records = fresh.reverse().concat(this.records);
              for (const old of this.records.splice(this.limit)) this.known.delete(old.id);
              this.setHeight();
              if (!isAtTop) box.scrollTop += fresh.length * this.height;
            }
            this.draw();
          },

          setHeight() { $("rows").style.height = this.records.length * this.height + "px"; },

          draw(isFromTop = false) {
            if (isFromTop) $("list").scrollTop = 0;
            if (this.drawing) return;
            this.drawing = requestAnimationFrame(() => { this.drawing = 0; this.drawNow(); });
          },

          drawNow() {
            const box = $("list"), count = this.records.length;
            box.hidden = count === 0;
            this.setHeight();
            this.sayCount();
            const first = Math.max(0, Math.floor(box.scrollTop / this.height) - 4);
            const end = Math.min(count, first + Math.ceil(box.clientHeight / this.height) + 8);
            for (const [place, row] of this.rows) {
              if (place < first || place >= end) { row.remove(); this.rows.delete(place); }
            }
            for (let place = first; place < end; place += 1) {
              const record = this.records[place];
              let row = this.rows.get(place);
              if (!row || row.record !== record || record.isNew) {
                const drawn = this.row(record, place);
                if (row) row.replaceWith(drawn); else $("rows").append(drawn);
                this.rows.set(place, drawn);
                row = drawn;
              }
              const isChosen = record.id === detail.id;
              row.setAttribute("aria-selected", isChosen);
              row.setAttribute("aria-setsize", count);
              row.classList.toggle("on", isChosen);
            }
            for (const row of this.rows.values()) row.record.isNew = false;
            const chosen = detail.id && this.known.has(detail.id) && $("row-" + detail.id);
            if (chosen) box.setAttribute("aria-activedescendant", chosen.id);
            else box.removeAttribute("aria-activedescendant");
          },

          row(record, place) {
            const { spoken } = outcome(record);
            const facts = [
              record.milliseconds === undefined ? null : timed(record.milliseconds),
              record.size === undefined ? null : sized(record.size),
            ].filter(Boolean).join(" · ");
            const row = make("div", {
              id: "row-" + record.id, role: "option", class: "row", "aria-posinset": place + 1,
              "aria-label": [record.method, record.url, spoken, facts, record.isChanged ? "changed by a floret" : ""].filter(Boolean).join(", "),
            },
              make("span", { class: "mark" }, pill(record)),
              make("span", { class: "what" }, make("span", { class: "method" }, record.method), " ", make("span", { class: "path" }, record.path)),
              make("span", { class: "fact" }, record.started ? clock(record.started) : ""),
              make("span", { class: "host" }, record.host, record.isChanged && make("span", { class: "tag" }, "changed")),
              make("span", { class: "fact" }, facts));
            row.record = record;
            row.style.transform = "translateY(" + place * this.height + "px)";
            return row;
          },

          sayCount() {
            const count = plural(this.records.length, "request");
            $("count").textContent = this.isLoading && this.records.length >= 200 ? count + ", loading more" : count;
            this.sayEmpty();
          },

          sayEmpty() {
            const empty = $("empty");
            empty.hidden = this.records.length > 0;
            if ([...this.query()].length > 0) empty.textContent = "No request is like this.";
            else if (!page.state.isRunning) empty.textContent = "Recording is paused.";
            else empty.textContent = "Nothing yet. Requests appear here as they are made.";
          },

          // Chooses the record so many places further; the list keeps the focus.
          move(step) {
            if (this.records.length === 0) return;
            const now = detail.id ? this.records.findIndex((record) => record.id === detail.id) : -1;
            // Whatever key begins, it begins at the newest, but for the one that asks for the oldest.
            const place = Math.min(this.records.length - 1, Math.max(0, now < 0 && step < Infinity ? 0 : now + step));
            this.reveal(place);
            go("record-" + this.records[place].id, detail.id !== null);
          },

          reveal(place) {
            const box = $("list"), top = place * this.height;
            if (top < box.scrollTop) box.scrollTop = top;
            else if (top + this.height > box.scrollTop + box.clientHeight) box.scrollTop = top + this.height - box.clientHeight;
          },
        };

        $("list").addEventListener("scroll", () => list.draw(), { passive: true });
        $("list").addEventListener("click", (event) => {
          const row = event.target.closest(".row");
          if (row) go("record-" + row.record.id, detail.id !== null && innerWidth > 900);
        });
        $("list").addEventListener("keydown", (event) => {
          const screen = Math.max(1, Math.floor($("list").clientHeight / list.height) - 1);
          const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity };
          if (event.key in steps) {
            event.preventDefault();
            list.move(steps[event.key]);
          } else if (event.key === "Enter" && detail.id) {
            event.preventDefault();
            $("detail").focus();
          }
        });

        let searching = 0;
        const search = () => { clearTimeout(searching); searching = setTimeout(start, 150); };
        $("filter").addEventListener("input", search);
        $("filter").addEventListener("submit", (event) => { event.preventDefault(); search(); $("list").focus(); });

        """#
}
