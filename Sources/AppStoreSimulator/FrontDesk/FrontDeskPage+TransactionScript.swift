extension FrontDeskPage {
    /// The script of the transactions, the purchases that wait, and the promoted purchases.
    static let transactionScript: StaticString = #"""
        const transactionPath = (id, ...parts) => path("transactions", id, ...parts);
        const opened = new Set();
        const pageSize = 100;
        const shown = { transactions: pageSize, notifications: pageSize, messages: pageSize, images: pageSize, screens: pageSize, playOrders: pageSize, playNotifications: pageSize };

        const transactionAction = (label, word, id, done, rest = {}) => ({
          label, ...rest, plan: () => ({ call: ["POST", transactionPath(id, word)], command: command(word, [id]), done }),
        });
        const refund = (id) => ({
          label: "Refund", title: "Refund the transaction " + id + "?", isRisky: true, submitLabel: "Refund",
          warning: "The customer loses access to what the transaction paid for. You can reverse the refund.",
          fields: [
            { name: "reason", label: "Reason", options: [["other", "other"], ["appIssue", "a problem with the app"]], value: "other" },
            { name: "percentage", label: "Percentage of the price (optional)", type: "number", min: 0.001, max: 100, step: "any", hint: "Without it the refund is in full." },
          ],
          plan: ({ reason = "other", percentage = "" }) => ({
            call: ["POST", transactionPath(id, "refund"), percentage ? { reason, percentage: Number(percentage) } : { reason }],
            command: command("refund", [id], [...(reason === "other" ? [] : ["--reason", reason]), ...(percentage ? ["--percentage", percentage] : [])]),
            done: "The transaction " + id + " is refunded." }),
        });
        const requestRefund = (id) => ({
          label: "Request refund", title: "Request a refund of the transaction " + id + " as the customer",
          fields: [{ name: "reason", label: "Reason", value: "other", options: [["unintendedPurchase", "not intended"], ["fulfillmentIssue", "not delivered"],
            ["unsatisfiedWithPurchase", "not satisfied"], ["legal", "legal"], ["other", "other"]] }],
          plan: ({ reason = "other" }) => ({ call: ["POST", transactionPath(id, "request-refund"), { reason }],
            command: command("request-refund", [id], reason === "other" ? [] : ["--reason", reason]),
            done: "A refund of " + id + " is requested. Refund the transaction or decline the request." }),
        });
        const transactionButtons = (transaction) => {
          const id = transaction.transactionID;
          if (transaction.revocationDate) return [button(transactionAction("Reverse refund", "reverse-refund", id, "The refund of " + id + " is reversed."), id)];
          return [
            button(refund(id), id), button(requestRefund(id), id),
            button(transactionAction("Decline refund", "decline-refund", id, "The refund request for " + id + " is declined."), id),
            button(transactionAction("Revoke", "revoke", id, "The transaction " + id + " is revoked.", { title: "Revoke the transaction " + id + "?", isRisky: true,
              warning: "The customer loses access without a refund, as when a family stops sharing. This cannot be reversed." }), id),
          ];
        };

        const askToBuy = (order, decision, label, rest = {}) => ({
          label, ...rest, plan: () => ({ call: ["POST", transactionPath(order.transactionID, "ask-to-buy"), { decision }],
            command: command("ask-to-buy " + decision, [order.transactionID]), done: decision === "approve" ? sold : "The purchase " + order.transactionID + " is declined." }),
        });
        const drawPromoted = () => {
          $("promoted-box").hidden = state.promoted.length === 0;
          draw($("promoted"), [state.promoted, state.products], () => state.promoted.map((purchase) => make("li", { class: "line" },
            make("span", {}, make("strong", {}, nameOf(purchase.productID)), " ", pill("promoted", "warn"), " ",
              make("span", { class: "soft" }, purchase.offerID && "with the offer " + purchase.offerID + ", ", "since ", timeElement(purchase.begunAt))))));
        };
        const drawOrders = () => {
          $("waiting-box").hidden = state.orders.length === 0;
          draw($("waiting"), [state.orders, state.products], () => state.orders.map((order) => {
            const id = order.transactionID, about = id;
            const actions = order.state === "deferred"
              ? [button(askToBuy(order, "approve", "Approve", { tone: "main" }), about), button(askToBuy(order, "decline", "Decline", { isRisky: true,
                title: "Decline the purchase " + id + "?", warning: "The customer does not get the product." }), about)]
              : [button(transactionAction("Resolve", "resolve", id, sold, { tone: "main" }), about)];
            return make("li", { class: "line" }, make("span", {}, make("strong", {}, nameOf(order.productID)), order.quantity > 1 && " × " + order.quantity, " ",
              pill(order.state === "deferred" ? "waits for approval" : "interrupted", "warn"), " ", make("span", { class: "soft" }, "since ", timeElement(order.orderedAt))),
              make("span", { class: "buttons" }, actions));
          }));
        };

        const tones = { purchased: "good", expired: "", revoked: "bad", declined: "bad" };
        const states = ({ state, claims }) => [pill(state, tones[state]), claims.isUpgraded && [" ", pill("upgraded")],
          claims.inAppOwnershipType === "FAMILY_SHARED" && [" ", pill("shared by the family", "plain")]];
        const priceIn = (claim) => claim.price === undefined ? "–" : money(claim.price / 1000, claim.currency);
        const fold = (id, about, redraw) => make("button", { type: "button", "data-key": "open " + id, "aria-expanded": opened.has(id) ? "true" : "false",
          "aria-label": "Details of " + about, click: () => { if (!opened.delete(id)) opened.add(id); redraw(); } }, opened.has(id) ? "Close" : "Details");
        const table = (label, heads, rows) => make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": label }, make("table", { "aria-label": label },
          make("thead", {}, make("tr", {}, heads.map(([text, style]) => make("th", { scope: "col", class: style }, text)))), make("tbody", {}, rows)));
        const more = (name, count, redraw) => count > shown[name] && make("button", { type: "button", "data-key": "more " + name,
          click: () => { shown[name] += pageSize; redraw(); } }, "Show more of " + count.toLocaleString("en"));
        const readMore = (name, reader) => make("button", { type: "button", "data-key": "read more " + name, click: () => { reader.limit += readLimit; live.refresh(); } }, "Read later " + name);

        const drawTransactions = () => {
          const sales = state.transactions, latest = sales.slice().reverse().slice(0, shown.transactions);
          draw($("transactions"), [sales, Array.from(opened), shown.transactions, state.products], () => {
            if (sales.length === 0) return make("p", { class: "soft" }, "This account has bought nothing yet.");
            const rows = latest.flatMap((sale) => {
              const id = sale.transactionID, claim = sale.claims, offer = segmentKind(claim) === "paid" ? null : kindNames[segmentKind(claim)];
              const row = make("tr", {}, make("th", { scope: "row" }, nameOf(sale.productID), claim.quantity > 1 && " × " + claim.quantity,
                make("code", {}, id), make("span", { class: "narrow soft" }, sale.purchaseDate && instant(sale.purchaseDate), " ", states(sale))),
                make("td", { class: "wide" }, sale.purchaseDate ? timeElement(sale.purchaseDate) : "–"), make("td", { class: "wide" }, sale.expiresDate ? timeElement(sale.expiresDate) : "–"),
                make("td", { class: "number" }, priceIn(claim), offer && make("span", { class: "soft below" }, offer)),
                make("td", { class: "wide" }, states(sale)),
                make("td", { class: "end" }, fold(id, "transaction " + id, drawTransactions)));
              if (!opened.has(id)) return [row];
              return [row, make("tr", { class: "more" }, make("td", { colspan: 6 }, make("div", { class: "buttons" }, sale.signedTransaction && transactionButtons(sale)),
                jwsView("Signed transaction " + id, sale.signedTransaction), jwsView("Signed renewal info " + id, sale.signedRenewalInfo)))];
            });
            return [table("Transactions, newest first", [["Product"], ["Bought", "wide"], ["Until", "wide"], ["Price", "number"], ["State", "wide"], [make("span", { class: "hidden-label" }, "Details"), "end"]], rows),
              more("transactions", sales.length, drawTransactions)];
          });
        };

        """#
}
