extension InspectorPage {
    /// The script of the views of hub messages and florets, and of the form that sends a request.
    static let sheetScript: StaticString = #"""
        const traceTable = (entries) => {
          const kind = (entry) => entry.verdict === "subscribed" ? "subscription" : entry.kind === "viewQuery" ? "view query" : entry.kind;
          const tone = (entry) => ({ delivered: "good", subscribed: "plain", refused: "warn" }[entry.verdict] || "bad");
          const route = (entry) => (entry.sender || "–") + " → " + (entry.receivers.join(", ") || "–");
          const head = [["Time"], ["Message"], ["From", "wide"], ["To", "wide"], ["Verdict"]];
          const dotted = (name) => name.split(".").flatMap((part, index) => index === 0 ? [part] : [make("wbr"), "." + part]);
          return make("table", { class: "trace" },
            make("thead", {}, make("tr", {}, head.map(([name, column]) => make("th", { scope: "col", class: column }, name)))),
            make("tbody", {}, entries.map((entry) => make("tr", {},
              make("td", { class: "fact" }, clock(entry.at)),
              make("td", {}, make("code", {}, dotted(entry.message)), " ", make("span", { class: "soft kind" }, kind(entry)), make("span", { class: "soft narrow" }, route(entry))),
              make("td", { class: "wide" }, entry.sender || "–"),
              make("td", { class: "wide" }, entry.receivers.join(", ") || "–"),
              make("td", {}, make("span", { class: "pill " + tone(entry) }, entry.verdict), entry.reason && make("span", { class: "soft reason" }, entry.reason))))));
        };

        let drawingHub = 0;
        const drawHub = () => {
          if (drawingHub) return;
          drawingHub = requestAnimationFrame(() => {
            drawingHub = 0;
            const box = $("hub"), entries = page.trace.slice(0, 500);
            fill(box, make("h2", {}, "Hub messages"), entries.length === 0
              ? make("p", { class: "notice soft" }, "Nothing yet. Messages between plugins appear here as they are sent.")
              : make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": "Messages, newest first" }, traceTable(entries)));
          });
        };

        const drawFlorets = () => {
          const { florets, reports } = page.state, before = document.activeElement && document.activeElement.dataset.floret;
          const rows = florets.map((floret) => make("li", {},
            make("div", { class: "grow" }, make("span", { class: "name", id: "floret-" + floret.number }, floret.name),
              floret.summary && make("span", { class: "soft" }, floret.summary)),
            floret.hasSettings && make("a", { href: "florets/" + floret.number, "aria-label": "Settings of " + floret.name }, "Settings"),
            floret.isEnabled === undefined ? null : make("button", {
              type: "button", class: "switch", role: "switch", "aria-checked": String(floret.isEnabled), "aria-labelledby": "floret-" + floret.number,
              "data-floret": floret.number,
              click: async () => { page.state = await ask("POST", "florets/" + floret.number, { isEnabled: !floret.isEnabled }); drawFlorets(); },
            })));
          const reportItems = reports.map((report) => make("li", {}, report.message));
          fill($("florets"), make("h2", {}, "Florets"),
            make("p", { class: "soft" }, florets.length === 0 ? "This interceptor has no florets. It only records." : "The florets run in this order. A switch affects requests that begin from now on."),
            florets.length > 0 && make("ul", { class: "florets" }, rows),
            reportItems.length > 0 && [make("h3", {}, "Reports"), make("ul", { class: "plain" }, reportItems)]);
          const switched = before !== undefined && document.querySelector("[data-floret='" + Number(before) + "']");
          if (switched) switched.focus();
        };

        const sheet = { record: null, isTextBody: true };
        const openSheet = (record) => {
          const original = record ? record.original : { method: "GET", url: "https://", headers: [], body: { kind: "empty", text: "" } };
          const isRedacted = (text) => text.includes("[redacted]") || text.includes("%5Bredacted%5D");
          const omitted = original.headers.filter(([, value]) => isRedacted(value)).map(([name]) => name);
          sheet.record = record;
          // The form shows JSON indented and long bodies shortened. The recorded body is sent unless the user edits the text.
          sheet.body = original.body.kind === "binary" || original.body.isShortened || original.body.isCut ? null : original.body.text.replace(/\r\n?/g, "\n");
          $("send-title").textContent = record ? "Edit and resend" : "New request";
          $("send-method").value = original.method;
          $("send-url").value = original.url;
          $("send-headers").value = original.headers.filter(([, value]) => !isRedacted(value)).map(([name, value]) => name + ": " + value).join("\n");
          $("send-body").value = sheet.body || "";
          const notes = [
            omitted.length > 0 && "Redacted, so left out: " + omitted.join(", ") + ".",
            isRedacted(original.body.text) && "A part of the body was redacted.",
            sheet.body === null && "The body is sent as it was recorded unless you write another.",
          ].filter(Boolean);
          $("send-note").textContent = notes.join(" ");
          $("send-note").hidden = notes.length === 0;
          $("send-fault").textContent = "";
          $("send-go").disabled = false;
          $("send-go").textContent = "Send";
          $("send").showModal();
          $("send-url").focus();
        };
        $("send-cancel").addEventListener("click", () => $("send").close());
        $("send").querySelector("form").addEventListener("submit", async (event) => {
          event.preventDefault();
          const lines = $("send-headers").value.split("\n").filter((line) => line.trim());
          const broken = lines.find((line) => line.indexOf(":") < 1);
          if (broken) { $("send-fault").textContent = "A header has a name, a colon and a value: " + broken; return; }
          const headers = lines.map((line) => [line.slice(0, line.indexOf(":")).trim(), line.slice(line.indexOf(":") + 1).trim()]);
          const request = { method: $("send-method").value.trim(), url: $("send-url").value.trim(), headers };
          const body = $("send-body").value;
          if (body !== (sheet.body || "") || !sheet.record) request.body = body;
          $("send-go").disabled = true;
          $("send-go").textContent = "Sending";
          $("send-fault").textContent = "";
          try {
            const answer = await ask("POST", sheet.record ? "records/" + sheet.record.id + "/resend" : "requests", request);
            $("send").close();
            go("record-" + answer.id);
          } catch (error) {
            $("send-fault").textContent = error.message;
            $("send-go").disabled = false;
            $("send-go").textContent = "Send";
          }
        });

        """#
}
