extension FrontDeskPage {
    /// The script of the offer codes that were created, and of the conditions of win-back offers.
    static let offerCodeScript: StaticString = #"""
        const timeField = { pattern: "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z", hint: "A time such as 2026-11-20T14:40:00Z" };
        const numberField = (name, label, min, max, hint) => ({ name, label, type: "number", min, max, hint });

        const createCodes = () => ({
          label: "Create codes", title: "Create offer codes", submitLabel: "Create codes",
          fields: [
            { name: "product", label: "Product", options: state.products.map((product) => [product.id, product.displayName || product.id]) },
            { name: "offer", label: "Offer", required: true, hint: "A subscription's offer in the catalogue. For another product: its offer, or the name of a new one." },
            { name: "code", label: "Custom code", pattern: "[A-Za-z0-9]{1,64}", hint: "Without a text, one-time codes are created." },
            numberField("limit", "Redemptions of the custom code", 1, 1000000), numberField("count", "One-time codes", 1, 25000),
            { name: "expires", label: "Expiry (optional)", ...timeField },
            { name: "price", label: "Price of a new offer", pattern: "(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?", inputmode: "decimal", hint: "Only for a product that does not renew; 0 is free." },
            { name: "customers", label: "Customers of a new offer", options: [["", "all"], ...["nonSpender", "activeSpender", "churnedSpender"].map((name) => [name, name])] },
          ],
          plan: ({ product = "", offer = "", code = "", limit = "", count = "", expires = "", price = "", customers = "" }) => {
            const body = { productID: product, offerID: offer }, options = [];
            const add = (option, word, member, value) => { if (word) { body[member] = value; options.push("--" + option, word); } };
            if (code) { add("code", code, "code", code); add("limit", limit, "limit", Number(limit)); }
            else add("count", count || "1", "count", Number(count || "1"));
            add("expires", expires, "expiresAt", expires);
            add("price", price, "price", price);
            add("customers", customers, "customers", [customers]);
            return { call: ["POST", path("offer-code-batches"), body], command: command("offer-code create", [product, offer], options),
              done: (batch) => "Created " + batch.codes.slice(0, 20).map((entry) => entry.code).join(", ") + (batch.codes.length > 20 ? " …" : "") + "." };
          },
        });
        const deactivateCodes = ({ batch }) => ({
          label: "Deactivate", title: "Deactivate the codes of the batch " + batch + "?", isRisky: true, warning: "No account can redeem the codes again.",
          plan: () => ({ call: ["POST", path("offer-code-batches", batch, "deactivate")], command: command("offer-code deactivate", [batch]), done: "The codes of the batch " + batch + " are deactivated." }),
        });
        const setConditions = ({ productID, conditions }) => ({
          label: "Conditions", title: "Conditions of the win-back offer " + conditions.offerID, submitLabel: "Set conditions",
          fields: [
            numberField("paid", "Paid months", 1, 60, "Of all periods together"), numberField("least", "Months after the end, at least", 1, 24),
            numberField("most", "Months after the end, at most", 1, 24), numberField("wait", "Months after the last win-back offer", 2, 24),
          ].map((field) => ({ ...field, value: conditions[{ paid: "paidMonths", least: "minimumMonthsSinceEnd", most: "maximumMonthsSinceEnd", wait: "monthsBetweenOffers" }[field.name]] || "" })),
          plan: ({ paid = "", least = "", most = "", wait = "" }) => {
            const body = { offerID: conditions.offerID }, options = [];
            const add = (option, member, value) => { if (value) { body[member] = Number(value); options.push("--" + option, value); } };
            add("paid-months", "paidMonths", paid);
            add("min-months", "minimumMonthsSinceEnd", least);
            add("max-months", "maximumMonthsSinceEnd", most);
            add("wait-months", "monthsBetweenOffers", wait);
            return { call: ["PUT", path("products", productID, "win-back-conditions"), body], command: command("win-back set", [productID, conditions.offerID], options),
              done: "The conditions of " + conditions.offerID + " are set." };
          },
        });

        const drawCodeBatches = () => {
          const account = state.account;
          draw($("code-batches"), [state.batches, state.products, account], () => [
            ...state.batches.map((entry) => make("li", { class: "line" },
              make("span", {}, make("code", { class: "name" }, entry.code || "batch " + entry.batch), " ", pill(entry.state, codeTones[entry.state]),
                make("span", { class: "soft below" }, nameOf(entry.productID) + ": " + entry.offerID + ", redeemed " + entry.redeemed + " of " + entry.limit),
                entry.expiresAt && make("span", { class: "soft below" }, "Until ", timeElement(entry.expiresAt)),
                entry.reason && make("span", { class: "soft below" }, entry.reason)),
              make("span", { class: "buttons" }, entry.code && entry.state === "available" && button(redeemCode(entry, account), entry.code),
                !entry.deactivatedAt && button(deactivateCodes(entry), "the batch " + entry.batch)))),
            make("li", { class: "line" }, make("span", { class: "soft" }, "Custom codes and one-time codes"), button(createCodes())),
          ]);
          draw($("win-backs"), [state.winBacks, state.products], () => state.winBacks.map((entry) => make("li", { class: "line" },
            make("span", {}, make("code", { class: "name" }, entry.conditions.offerID), " ", pill(entry.isEligible ? "eligible" : "not eligible", entry.isEligible ? "good" : "plain"),
              make("span", { class: "soft below" }, nameOf(entry.productID) + ": " + offerText(entry.offer)), entry.reason && make("span", { class: "soft below" }, entry.reason)),
            button(setConditions(entry), "of " + entry.conditions.offerID))));
          $("win-backs-box").hidden = state.winBacks.length === 0;
        };

        """#
}
