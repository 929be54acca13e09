extension InspectorPage {
    /// Groups repeated requests in one line: a pure function of the records, newest first.
    static let foldScript: StaticString = #"""
        // Records with the same path and outcome share a key, so that an error stays visible. Active requests have no key.
        const foldKey = (record) => record.state === "underway" ? null
          : [record.method, record.host, record.path.split("?", 1)[0], record.state, record.status, record.error, record.isChanged].join("\n");

        // Groups records that repeat. Up to three requests may alternate, as with long polling by several devices.
        const folded = (records) => {
          const kinds = 3, lists = [], keys = records.map(foldKey);
          const comesAgain = (index) => {
            for (let next = index + 1; next <= index + kinds; next += 1) if (keys[next] === keys[index]) return true;
            return false;
          };
          let open = new Map();
          records.forEach((record, index) => {
            const key = keys[index];
            if (key !== null && open.has(key)) { open.get(key).push(record); return; }
            if (key === null || !comesAgain(index) || open.size === kinds) open = new Map();
            const list = [record];
            lists.push(list);
            if (key !== null && comesAgain(index)) open.set(key, list);
          });
          return lists;
        };

        """#

    /// The script of the list. It holds the newest records that match the filter, and draws the visible ones.
    static let listScript: StaticString = #"""
        const list = {
          records: [],        // newest first
          known: new Map(),
          lines: [],          // the shown lines, each with one record or a group of records
          open: new Set(),    // open groups, by their oldest record
          rows: new Map(),    // drawn rows, by their index in lines
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
            this.arrange();
            this.draw(true);
            this.loadRest(number, first.next);
            return first.position;
          },

          async loadRest(number, next) {
            while (next && this.records.length < this.limit) {
              const more = await this.fetchPage(next).catch(() => ({ records: [], next: null }));
              if (number !== this.number) return;
              this.append(more.records);
              this.arrange();
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
              this.records = fresh.reverse().concat(this.records);
              for (const old of this.records.splice(this.limit)) this.known.delete(old.id);
            }
            const box = $("list"), isAtTop = box.scrollTop < this.height / 2, before = this.lines.length;
            this.arrange();
            if (fresh.length > 0 && !isAtTop) box.scrollTop += (this.lines.length - before) * this.height;
            this.draw();
          },

          arrange() {
            this.lines = [];
            const folds = folded(this.records);
            folds.forEach((records, index) => {
              const oldest = records[records.length - 1].id, isOpen = records.length > 1 && this.open.has(oldest);
              this.lines.push({ record: records[0], records, oldest, isOpen, level: 1, place: index + 1, size: folds.length });
              if (!isOpen) return;
              records.slice(1).forEach((record, place) => {
                this.lines.push({ record, records: [record], isOpen: false, level: 2, place: place + 1, size: records.length - 1, head: records[0] });
              });
            });
            this.setHeight();
          },

          shows(line, id) {
            return line.record.id === id || (!line.isOpen && line.records.length > 1 && line.records.some((record) => record.id === id));
          },

          fold(line, isOpen) {
            if (line.records.length < 2 || line.isOpen === isOpen) return;
            if (isOpen) this.open.add(line.oldest); else this.open.delete(line.oldest);
            this.arrange();
            this.draw();
          },

          setHeight() { $("rows").style.height = this.lines.length * this.height + "px"; },

          draw(isFromTop = false) {
            if (isFromTop) $("list").scrollTop = 0;
            if (this.drawing) return;
            this.drawing = requestAnimationFrame(() => { this.drawing = 0; this.drawNow(); });
          },

          drawNow() {
            const box = $("list"), count = this.lines.length;
            box.hidden = count === 0;
            this.setHeight();
            this.sayCount();
            const first = Math.max(0, Math.floor(box.scrollTop / this.height) - 4);
            const end = Math.min(count, first + Math.ceil(box.clientHeight / this.height) + 8);
            for (const [place, row] of this.rows) {
              if (place < first || place >= end) { row.remove(); this.rows.delete(place); }
            }
            for (let place = first; place < end; place += 1) {
              const line = this.lines[place], { record } = line, face = [line.level, line.records.length, line.isOpen].join();
              let row = this.rows.get(place);
              if (!row || row.record !== record || row.face !== face || record.isNew) {
                const drawn = this.row(line, place);
                if (row) row.replaceWith(drawn); else $("rows").append(drawn);
                this.rows.set(place, drawn);
                row = drawn;
              }
              row.record = record;
              row.face = face;
              row.line = line;
              const isChosen = detail.id !== null && this.shows(line, detail.id);
              row.setAttribute("aria-selected", isChosen);
              row.setAttribute("aria-posinset", line.place);
              row.setAttribute("aria-setsize", line.size);
              row.classList.toggle("on", isChosen);
            }
            for (const row of this.rows.values()) row.record.isNew = false;
            const chosen = detail.id && [...this.rows.values()].find((row) => this.shows(row.line, detail.id));
            if (chosen) box.setAttribute("aria-activedescendant", chosen.id);
            else box.removeAttribute("aria-activedescendant");
          },

          row(line, place) {
            const { record, records, isOpen } = line, isFold = records.length > 1, { spoken } = outcome(record);
            const repeated = records.length.toLocaleString("en") + " times";
            const facts = [
              record.milliseconds === undefined ? null : timed(record.milliseconds),
              record.size === undefined ? null : sized(record.size),
            ].filter(Boolean).join(" · ");
            const row = make("div", {
              id: "row-" + record.id, role: "treeitem", class: line.level > 1 ? "row under" : "row", "aria-level": line.level,
              "aria-expanded": isFold && String(isOpen),
              "aria-label": [record.method, record.url, spoken, facts, record.isChanged && "changed by a floret", isFold && repeated].filter(Boolean).join(", "),
            },
              make("span", { class: "mark" }, pill(record)),
              make("span", { class: "what", title: record.method + " " + record.url }, make("span", { class: "method" }, record.method), " ", make("span", { class: "path" }, pathParts(record.path))),
              make("span", { class: "fact" }, record.started ? clock(record.started) : ""),
              make("span", { class: "below" }, isFold && make("span", { class: "fold", title: isOpen ? "Collapse" : "Show all " + records.length }, repeated),
                record.isChanged && make("span", { class: "tag" }, "changed"), make("span", { class: "host", title: record.host }, record.host)),
              make("span", { class: "fact" }, facts));
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
            if ([...this.query()].length > 0) empty.textContent = "No requests match.";
            else if (!page.state.isRunning) empty.textContent = "Recording is paused.";
            else empty.textContent = "Nothing yet. Requests appear here as they are made.";
          },

          move(step) {
            if (this.lines.length === 0) return;
            const now = this.chosenPlace();
            // Without a selection, each key selects the newest record, except End, which selects the oldest.
            const place = Math.min(this.lines.length - 1, Math.max(0, now < 0 && step < Infinity ? 0 : now + step));
            this.reveal(place);
            go("record-" + this.lines[place].record.id, detail.id !== null);
          },

          chosenPlace() { return detail.id ? this.lines.findIndex((line) => this.shows(line, detail.id)) : -1; },

          // As in a tree view: right opens a group; left closes it or selects the group of a record.
          turn(isOpening) {
            const line = this.lines[this.chosenPlace()];
            if (!line) return;
            if (!isOpening && line.head) go("record-" + line.head.id, true);
            else this.fold(line, isOpening);
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
          if (row && event.target.closest(".fold")) list.fold(row.line, !row.line.isOpen);
          else if (row) go("record-" + row.record.id, detail.id !== null && innerWidth > 900);
        });
        $("list").addEventListener("keydown", (event) => {
          const screen = Math.max(1, Math.floor($("list").clientHeight / list.height) - 1);
          const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity };
          if (event.key in steps) {
            event.preventDefault();
            list.move(steps[event.key]);
          } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
            event.preventDefault();
            list.turn(event.key === "ArrowRight");
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
