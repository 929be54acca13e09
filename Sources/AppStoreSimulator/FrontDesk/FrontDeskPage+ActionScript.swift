extension FrontDeskPage {
    /// The actions: each sends one request and shows its command, its result, or the problem and what to do.
    ///
    /// An action is `{ label, key, plan, title, warning, fields, submitLabel, isRisky, tone }`. `plan(values)` returns
    /// `{ call: [method, path, body], command, done }`. An action with a warning or with fields opens the dialog first.
    static let actionScript: StaticString = #"""
        const commands = [];

        const report = (text, line, isFault = false) => {
          const outcome = $("outcome");
          outcome.textContent = text;
          outcome.classList.toggle("fault", isFault);
          if (!line) return;
          const box = $("last-command");
          box.hidden = false;
          box.querySelector("code").textContent = line;
          commands.unshift(line);
          commands.splice(20);
          $("earlier").hidden = commands.length < 2;
          fill($("earlier").querySelector("ol"), commands.slice(1).map((earlier) => make("li", {}, make("code", {}, earlier))));
        };
        $("last-command").querySelector("button").addEventListener("click", (event) => copy(commands[0], event.target));

        const explain = (problem) => [problem.message, adviceFor(problem)].filter(Boolean).join(" ");

        // Sends the request of an action. Returns true, or the problem if it failed.
        const perform = async (plan) => {
          document.body.classList.add("busy");
          try {
            const answer = await request(...plan.call);
            report(typeof plan.done === "function" ? plan.done(answer) : plan.done, plan.command);
            if (plan.after) plan.after(answer);
            await live.refresh();
            return true;
          } catch (problem) {
            if (!(problem instanceof Problem)) throw problem;
            report(explain(problem), plan.command, true);
            return problem;
          } finally {
            document.body.classList.remove("busy");
          }
        };

        const act = (action) => {
          if (action.fields || action.warning) sheet.open(action);
          else perform(action.plan({}));
        };
        // The accessible name is the visible label, followed by the object of the action.
        const button = (action, about = "") => make("button", {
          type: "button", class: action.tone, "data-key": action.key || action.label + " " + about,
          "aria-label": about ? action.label + " " + about : undefined, "aria-haspopup": action.fields || action.warning ? "dialog" : undefined,
          title: action.fields ? undefined : action.plan({}).command, click: () => act(action),
        }, action.label);

        const sheet = {
          action: null,
          opener: undefined,

          open(action) {
            this.action = action;
            this.opener = document.activeElement.dataset.key;
            $("sheet-title").textContent = action.title || action.label;
            $("sheet-warning").textContent = action.warning || "";
            $("sheet-go").textContent = action.submitLabel || action.label;
            $("sheet-go").className = action.isRisky ? "risky" : "main";
            $("sheet-fault").textContent = "";
            fill($("sheet-fields"), (action.fields || []).map((field) => this.field(field)));
            this.preview();
            $("sheet").showModal();
          },

          field({ name, label, options, value = "", hint, ...attributes }) {
            const id = "field-" + name, about = hint ? "about-" + id : undefined;
            if (attributes.type === "checkbox") {
              const box = make("input", { ...attributes, id, name, checked: value === true, "aria-describedby": about });
              return make("div", { class: "check" }, box, make("label", { for: id }, label), hint && make("p", { id: about, class: "soft" }, hint));
            }
            const control = options
              ? make("select", { id, name, "aria-describedby": about }, options.map(([choice, words]) => make("option", { value: choice, selected: choice === value }, words)))
              : make("input", { ...attributes, id, name, value, autocomplete: "off", spellcheck: "false", "aria-describedby": about });
            return make("div", {}, make("label", { for: id }, label), control, hint && make("p", { id: about, class: "soft" }, hint));
          },

          get values() {
            const entries = Array.from($("sheet-fields").querySelectorAll("[name]"), (control) =>
              [control.name, control.type === "checkbox" ? control.checked : control.value.trim()]);
            return Object.fromEntries(entries);
          },

          preview() { $("sheet-command").textContent = this.action.plan(this.values).command; },

          async submit() {
            $("sheet-go").disabled = true;
            const result = await perform(this.action.plan(this.values));
            $("sheet-go").disabled = false;
            if (result === true) $("sheet").close();
            else $("sheet-fault").textContent = explain(result);
          },
        };
        $("sheet").querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); sheet.submit(); });
        // The button that opened the dialog may have been drawn again. After Enter, a field of the closed dialog still has the focus.
        $("sheet").addEventListener("close", () => {
          if (document.activeElement !== document.body && !$("sheet").contains(document.activeElement)) return;
          const same = sheet.opener === undefined ? null : withKey(sheet.opener);
          (same || $("main")).focus({ preventScroll: true });
        });
        $("sheet").addEventListener("input", () => sheet.preview());
        $("sheet-cancel").addEventListener("click", () => $("sheet").close());
        $("sheet-copy").addEventListener("click", (event) => copy($("sheet-command").textContent, event.target));

        """#

    /// The view of a JWS: its decoded header and payload.
    static let documentScript: StaticString = #"""
        const decoded = (part) => {
          const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
          return JSON.parse(new TextDecoder().decode(bytes));
        };
        const claims = (jws) => {
          try { return decoded(jws.split(".")[1]); } catch { return {}; }
        };

        // Dates are milliseconds in a payload, so the date in words follows at the end of the line. Certificates and
        // signed texts are shortened; the copied text has them in full.
        const shortened = (name, member) => typeof member === "string" && member.length > 200
          ? member.slice(0, 40) + "… (" + member.length.toLocaleString("en") + " characters)" : member;
        const lines = (value) => JSON.stringify(value, shortened, 2).split("\n").map((line) => {
          const found = /^\s*"\w*(?:Date|At|from|until)\w*": (\d{12,14}),?$/.exec(line);
          return found ? [line, make("span", { class: "soft" }, "  " + instant(Number(found[1])) + " UTC"), "\n"] : [line, "\n"];
        }).flat();
        const code = (title, part, value) => make("div", {}, make("p", { class: "caption" }, part),
          make("pre", { class: "code", tabindex: "0", role: "region", "aria-label": part + " of " + title }, lines(value)));

        // Shows a JWS, and below it each JWS that its payload contains.
        const jwsView = (title, jws) => {
          if (!jws) return null;
          let header, payload;
          try {
            const parts = jws.split(".");
            [header, payload] = [decoded(parts[0]), decoded(parts[1])];
          } catch {
            return make("p", { class: "fault" }, title + " is not a JWS.");
          }
          const inner = Object.entries(payload.data || payload).filter(([name, value]) => /^signed\w+Info$/.test(name) && typeof value === "string");
          return make("section", { class: "jws", "aria-label": title }, make("div", { class: "line" }, make("strong", {}, title),
            make("button", { type: "button", click: (event) => copy(jws, event.target) }, "Copy JWS"),
            make("button", { type: "button", click: (event) => copy(JSON.stringify(payload, null, 2), event.target) }, "Copy payload")),
            make("div", { class: "pair" }, code(title, "Header", header), code(title, "Payload", payload)),
            inner.map(([name, value]) => jwsView(title + ": " + name, value)));
        };

        """#
}
