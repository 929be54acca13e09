extension FrontDeskPage {
    /// The script of the notifications and their deliveries.
    static let notificationScript: StaticString = #"""
        const reader = { account: "", type: "", limit: readLimit, isComplete: true, generation: 0 };
        const forgetNumbered = () => { reader.generation += 1; Object.assign(state, { notifications: [], screens: [], playNotifications: [] }); };

        const readNotifications = async () => {
          const { account, type, generation, limit } = reader;
          const isOpen = (notification) => notification.due || notification.attempts.some((attempt) => !attempt.result);
          const [notifications, isComplete] = await readNumbered("notifications", "notifications", state.notifications, isOpen, limit, { ...(account && { account }), ...(type && { type }) });
          if (generation !== reader.generation) return;
          reader.isComplete = isComplete;
          state.notifications = notifications;
        };

        const resultText = (attempt) => attempt.result || "under way";
        const resultTone = (attempt) => attempt.result === "SUCCESS" ? "good" : attempt.result ? "bad" : "";
        const resend = (notification) => ({
          label: "Resend", plan: () => ({ call: ["POST", path("notifications", notification.uuid, "resend")], command: command("notifications resend", [notification.uuid]),
            done: "The notification " + notification.uuid + " is sent again." }),
        });
        const deliver = {
          label: "Deliver now", plan: () => ({ call: ["POST", path("notifications", "deliver")], command: command("notifications deliver"),
            done: ({ waiting }) => waiting === 0 ? "All notifications have arrived." : plural(waiting, "notification") + " will be sent again later." }),
        };

        const drawNotifications = () => {
          const url = state.settings.notificationsURL;
          $("notifications-note").textContent = url && url !== "off" ? "They are sent to " + url + "."
            : "No URL is set, so the store writes no notifications. Change notificationsURL in the settings.";
          draw($("notification-account"), state.accounts.map((account) => account.name), () => [["", "every account"], ...state.accounts.map(({ name }) => [name, name])]
            .map(([value, words]) => make("option", { value, selected: value === reader.account }, words)));
          const types = Array.from(new Set([...state.notifications.map((notification) => notification.type), reader.type])).filter(Boolean).sort();
          draw($("notification-type"), [types, reader.type], () => [["", "every type"], ...types.map((type) => [type, type])]
            .map(([value, words]) => make("option", { value, selected: value === reader.type }, words)));
          const renewing = state.transactions.filter((sale) => sale.claims.type === "Auto-Renewable Subscription").slice(-50).reverse();
          draw($("known-transactions"), renewing, () => renewing.map((sale) => make("option", { value: sale.transactionID }, nameOf(sale.productID) + ", " + state.account)));
          const found = state.notifications.slice().reverse();
          draw($("notifications"), [found, Array.from(opened), shown.notifications, reader.isComplete], () => {
            if (found.length === 0) return make("p", { class: "soft" }, "There are no notifications.");
            const rows = found.slice(0, shown.notifications).flatMap((notification) => {
              const { uuid, attempts } = notification, last = attempts[attempts.length - 1];
              const row = make("tr", {}, make("th", { scope: "row" }, make("code", { class: "name" }, breakable(notification.type)),
                notification.subtype && make("code", { class: "soft" }, breakable(notification.subtype)),
                make("span", { class: "narrow soft" }, [instant(notification.at), notification.account].filter(Boolean).join(", "))),
                make("td", { class: "wide" }, timeElement(notification.at)), make("td", { class: "wide" }, notification.account || "–"),
                make("td", {}, last ? pill(resultText(last), resultTone(last)) : pill("not sent"), make("span", { class: "soft below" }, plural(attempts.length, "attempt"))),
                make("td", { class: "end" }, fold(uuid, "notification " + notification.type + " " + uuid, drawNotifications)));
              if (!opened.has(uuid)) return [row];
              return [row, make("tr", { class: "more" }, make("td", { colspan: 5 }, make("div", { class: "line" }, button(resend(notification), uuid), make("code", {}, uuid)),
                attempts.length > 0 && make("ol", { class: "attempts", "aria-label": "Attempts" }, attempts.map((attempt) => make("li", {}, timeElement(attempt.at), " ", pill(resultText(attempt), resultTone(attempt))))),
                notification.due && make("p", { class: "soft" }, "It is sent next on ", timeElement(notification.due), "."),
                notification.signedPayload ? jwsView("Signed payload " + uuid, notification.signedPayload) : make("p", { class: "soft" }, "It is signed when it is sent first.")))];
            });
            return [table("Notifications, newest first", [["Type"], ["Time", "wide"], ["Account", "wide"], ["Delivery"], [make("span", { class: "hidden-label" }, "Details"), "end"]], rows),
              more("notifications", found.length, drawNotifications),
              !reader.isComplete && readMore("notifications", reader)];
          });
        };

        const filterNotifications = () => {
          Object.assign(reader, { account: $("notification-account").value, type: $("notification-type").value, limit: readLimit });
          forgetNumbered();
          shown.notifications = pageSize;
          live.refresh();
        };
        $("notification-account").addEventListener("change", filterNotifications);
        $("notification-type").addEventListener("change", filterNotifications);
        $("deliver").addEventListener("click", () => act(deliver));
        $("deliver").title = command("notifications deliver");

        // A type has a transaction or a subtype. Only the control that it has is visible.
        const offerTypeFields = () => document.querySelectorAll("[data-new]").forEach((box) => {
          const isUsed = (box.dataset.new === "subtype") === ($("new-type").value === "EXTERNAL_PURCHASE_TOKEN");
          box.hidden = !isUsed;
          box.querySelector("select, input").disabled = !isUsed;
        });
        $("new-type").addEventListener("change", offerTypeFields);
        $("new-notification").addEventListener("submit", (event) => {
          event.preventDefault();
          const type = $("new-type").value, transactionID = $("new-transaction").value.trim(), subtype = $("new-subtype").value;
          const [fields, options] = $("new-transaction").disabled ? [{ subtype }, ["--subtype", subtype]] : [{ transactionID }, ["--transaction", transactionID]];
          perform({ call: ["POST", path("notifications"), { type, ...fields }], command: command("notifications create", [type], options),
            done: (notification) => "The notification " + notification.type + " " + notification.uuid + " is created." });
        });
        offerTypeFields();

        """#

    static let settingScript: StaticString = #"""
        const settingForms = Array.from(document.querySelectorAll("[data-setting]"));
        const controlOf = (form) => form.querySelector("select, input");

        // A control that the user is changing keeps its value.
        const drawSettings = () => settingForms.forEach((form) => {
          const value = state.settings[form.dataset.setting], control = controlOf(form), text = value === undefined ? "" : String(value);
          if (form.dataset.value === text) return;
          const isBeingChanged = form.dataset.value !== undefined && control.value !== form.dataset.value;
          form.dataset.value = text;
          if (!isBeingChanged) control.value = text;
          offerChange(form);
        });
        const offerChange = (form) => { form.querySelector("button").disabled = controlOf(form).value === form.dataset.value; };

        settingForms.forEach((form) => {
          form.addEventListener("input", () => offerChange(form));
          form.addEventListener("submit", async (event) => {
            event.preventDefault();
            const name = form.dataset.setting, text = controlOf(form).value.trim();
            await perform({ call: ["PUT", path("settings", name), { value: text }], command: command("settings set", [name, text]),
              done: (setting) => "The setting " + name + " is " + setting.value + ".",
              after: (setting) => { form.dataset.value = String(setting.value); controlOf(form).value = form.dataset.value; } });
            offerChange(form);
            controlOf(form).focus({ preventScroll: true });
          });
        });

        """#

    /// The script of the injected errors and latencies: their list and the form that adds one.
    static let faultScript: StaticString = #"""
        const setFault = (name, value, done) => ({ call: ["PUT", path("settings", name), { value }], command: command("settings set", [name, value]), done });
        const removeFault = (name) => ({
          label: "Remove", plan: () => setFault(name, name.startsWith("latency.") ? "0" : "off", "The setting " + name + " injects nothing now."),
        });
        const drawFaults = () => {
          const found = faults();
          $("faults-note").hidden = found.length === 0;
          $("faults-note").textContent = plural(found.length, "injected fault");
          draw($("faults"), found, () => found.length === 0 ? make("li", { class: "soft" }, "No errors or latencies are injected.")
            : found.map(([name, value]) => make("li", { class: "line" }, make("span", {}, make("code", {}, name), " is ", make("strong", {}, value + (name.startsWith("latency.") ? " s" : ""))),
              button(removeFault(name), name))));
        };

        // Each setting has a control. Only the control of the chosen setting is visible.
        const faultControl = () => Array.from(document.querySelectorAll("[data-fault]")).find((box) => box.dataset.fault === $("fault-name").value).querySelector("select, input");
        const offerFault = () => document.querySelectorAll("[data-fault]").forEach((box) => {
          const isChosen = box.dataset.fault === $("fault-name").value;
          box.hidden = !isChosen;
          box.querySelector("select, input").disabled = !isChosen;
        });
        $("fault-name").addEventListener("change", offerFault);
        $("add-fault").addEventListener("submit", (event) => {
          event.preventDefault();
          const name = $("fault-name").value;
          perform(setFault(name, faultControl().value.trim(), (setting) => "The setting " + name + " is " + setting.value + "."));
        });
        offerFault();

        """#
}
