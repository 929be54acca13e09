extension FrontDeskPage {
    /// The script of the timeline, which shows the parts of each subscription to scale and as a table.
    static let timelineScript: StaticString = #"""
        // The most periods of a subscription that the timeline shows.
        const periodLimit = 36;
        const kindNames = {
          trial: "Free trial", offer: "Offer", paid: "Paid", grace: "Grace period", retry: "Billing retry", hold: "Account hold", paused: "Paused", expired: "Expired", revoked: "Revoked",
        };
        const segmentKind = (claim) => claim.offerDiscountType === "FREE_TRIAL" ? "trial" : claim.offerType ? "offer" : "paid";

        // Returns the parts of a subscription, oldest first: { kind, from, to, name }.
        const segments = (subscription, now) => {
          const sales = state.transactions.filter((sale) => sale.originalTransactionID === subscription.originalTransactionID && sale.expiresDate).slice(-periodLimit);
          const parts = [], add = (kind, from, to, product) => { if (to > from) parts.push({ kind, from, to, name: nameOf(product) }); };
          sales.forEach((sale, index) => {
            const next = sales[index + 1], from = Date.parse(sale.purchaseDate), end = Date.parse(sale.expiresDate);
            const follows = next ? Date.parse(next.purchaseDate) : Infinity, revoked = sale.revocationDate ? Date.parse(sale.revocationDate) : Infinity;
            const to = Math.min(end, follows, Math.max(revoked, from));
            add(segmentKind(sale.claims), from, to, sale.productID);
            const lost = Math.min(Math.max(end, revoked === Infinity ? end : revoked), follows);
            if (revoked !== Infinity) add("revoked", to, lost, sale.productID);
            if (next) add("expired", revoked === Infinity ? to : lost, follows, sale.productID);
          });
          let end = Date.parse(subscription.expiresAt);
          const product = subscription.productID;
          for (const [kind, date] of [["grace", subscription.gracePeriodUntil], ["retry", subscription.billingRetryUntil]]) {
            const to = date ? Date.parse(date) : 0;
            if (to > end && subscription.status !== "active") { add(kind, end, to, product); end = to; }
          }
          if (subscription.status === "expired") add("expired", end, now, product);
          return parts;
        };

        // Returns at most about `limit` instants for an axis, at the starts of days, weeks, months or years.
        const ticks = (from, to, limit) => {
          const dayLength = 86400000, span = to - from;
          const months = [1, 2, 3, 6, 12, 24, 60, 120, 600].find((step) => span / (30.4 * dayLength * step) <= limit) || 1200;
          const days = [1, 2, 7, 14].find((step) => span / (dayLength * step) <= limit);
          const found = [];
          if (days) {
            for (let at = Math.ceil(from / dayLength) * dayLength; at <= to; at += days * dayLength) found.push(at);
            return found;
          }
          const start = new Date(from);
          for (let month = start.getUTCFullYear() * 12 + Math.ceil(start.getUTCMonth() / months) * months; ; month += months) {
            const at = Date.UTC(Math.floor(month / 12), month % 12, 1);
            if (at > to) return found;
            if (at >= from) found.push(at);
          }
        };

        // Patterns distinguish the parts without colour. Each picture has its own, because a hidden one has none.
        const patterns = (picture) => make("defs", {}, [
          ["trial", [make("circle", { cx: 4, cy: 4, r: 1.6 })]], ["offer", [make("rect", { x: 0, y: 3, width: 8, height: 2 })]],
          ["grace", [make("path", { d: "M-2 10 L10 -2 M-2 2 L2 -2 M6 10 L10 6" })]], ["retry", [make("path", { d: "M0 0 L8 8 M8 0 L0 8" })]],
          ["hold", [make("path", { d: "M0 0 L8 8 M8 0 L0 8" })]], ["paused", [make("path", { d: "M2.5 1 V7 M5.5 1 V7" })]],
          ["revoked", [make("path", { d: "M4 0 V8" })]],
        ].map(([kind, marks]) => make("pattern", { id: picture + "-" + kind, class: "of-" + kind, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
          make("rect", { width: 8, height: 8, class: "ground" }), marks)));
        const bar = (picture, kind, attributes) => make("rect", { class: "bar of-" + kind, rx: 2, ...attributes,
          fill: ["paid", "expired"].includes(kind) ? undefined : "url(#" + picture + "-" + kind + ")" });
        const legend = (picture, kinds) => make("ul", { class: "legend", "aria-label": "Legend" }, kinds.map((kind) => make("li", {},
          make("svg", { width: 26, height: 14, "aria-hidden": "true" }, bar(picture, kind, { x: 1, y: 1, width: 24, height: 12 })), kindNames[kind])));

        // Shortens a name to about the width of the picture. The table has the complete name.
        const labelOf = (name, width) => {
          const letters = Array.from(name), limit = Math.max(10, Math.floor(width / 9));
          return letters.length > limit ? letters.slice(0, limit).join("") + "…" : name;
        };
        // Draws the rows [name, parts] of a picture with a name of its own.
        const timeline = (picture, all, width) => {
          const now = virtualNow(), rows = all.filter(([, parts]) => parts.length > 0);
          if (rows.length === 0) return null;
          const shown = rows.flatMap(([, parts]) => parts), from = Math.min(...shown.map((part) => part.from)), to = Math.max(now, ...shown.map((part) => part.to));
          const x = (at) => (100 * (at - from) / (to - from)).toFixed(3) + "%", height = 46, bottom = rows.length * height + 6;
          const kinds = Object.keys(kindNames).filter((kind) => shown.some((part) => part.kind === kind));
          const anchor = (at) => { const share = (at - from) / (to - from); return share < 0.12 ? "start" : share > 0.88 ? "end" : "middle"; };
          const drawing = make("svg", { role: "img", class: "timeline", width: "100%", height: bottom + 40,
            "aria-label": "Timeline of " + plural(rows.length, "subscription") + " from " + day(from) + " to " + day(to) + ". The table after it has the same parts." },
            patterns(picture),
            ticks(from, to, Math.max(2, Math.floor(width / 150))).map((at) => [make("line", { class: "tick", x1: x(at), x2: x(at), y1: 4, y2: bottom }),
              make("text", { x: x(at), y: bottom + 16, "text-anchor": anchor(at) }, day(at))]),
            rows.map(([name, parts], index) => [make("text", { class: "label", x: 0, y: index * height + 16 }, labelOf(name, width)),
              parts.map((part) => bar(picture, part.kind, { x: x(part.from), y: index * height + 22, height: 18, width: (100 * (part.to - part.from) / (to - from)).toFixed(3) + "%" }))]),
            make("line", { class: "now", x1: x(now), x2: x(now), y1: 0, y2: bottom }),
            make("text", { class: "now", x: x(now), y: bottom + 34, "text-anchor": anchor(now) }, "now"));
          const cells = shown.map((part) => make("tr", {}, make("th", { scope: "row" }, part.name),
            make("td", { class: "word" }, kindNames[part.kind]), make("td", {}, timeElement(part.from)), make("td", {}, timeElement(part.to))));
          return make("div", { class: "stack" }, drawing, legend(picture, kinds), make("details", { "data-fold": picture, open: folds.has(picture), toggle: remember },
            make("summary", {}, "The timeline as a table"), table("Parts of the subscriptions", [["Product"], ["Part"], ["From"], ["Until"]], cells)));
        };

        // The details elements that are open. They stay open when their part is drawn again.
        const folds = new Set();
        const remember = ({ target }) => { if (target.open) folds.add(target.dataset.fold); else folds.delete(target.dataset.fold); };

        """#

    static let subscriptionScript: StaticString = #"""
        const subscriptionAction = (account, subscription, label, word, done, { after, ...rest } = {}) => ({
          label, ...rest, plan: () => ({ call: ["POST", accountPath(account, word), { productID: subscription.productID }],
            command: command(word, [account, subscription.productID]), done, after }),
        });
        const plansOf = (subscription) => state.products.filter((product) => product.subscription && product.subscription.groupID === subscription.groupID);
        // Whether another period follows, in a commitment after its last bill.
        const renewsOf = ({ commitment, autoRenews }) => commitment ? commitment.renews : autoRenews;
        const resume = (account, subscription) => ({
          label: renewsOf(subscription) ? "Change plan" : "Resume", title: renewsOf(subscription) ? "Change the plan from the next period on" : "Turn on renewal again",
          fields: [{ name: "renewsTo", label: "Renews to", value: subscription.renewsTo, options: plansOf(subscription).map((product) => [product.id, (product.displayName || product.id) + ", " + product.displayPrice]) }],
          plan: ({ renewsTo = subscription.renewsTo }) => {
            const isSame = renewsTo === subscription.productID;
            return { call: ["POST", accountPath(account, "resume"), isSame ? { productID: subscription.productID } : { productID: subscription.productID, renewsTo }],
              command: command("resume", [account, subscription.productID], isSame ? [] : ["--renews-to", renewsTo]), done: "The subscription renews to " + renewsTo + "." };
          },
        });
        // The store shows the retention message before it cancels, and returns it with the transaction.
        const cancelled = ({ commitment }) => ({ retentionMessage }) => "The subscription ends with its " + (commitment ? "commitment." : "period.") + (retentionMessage ? " " + screenText(retentionMessage) : "");
        const consent = (account, subscription, agrees) => ({
          label: agrees ? "Agree to the price" : "Decline the price", tone: agrees ? "main" : undefined, isRisky: !agrees,
          title: agrees ? undefined : "Decline the higher price?", warning: agrees ? undefined : "The subscription ends with its period.",
          plan: () => ({ call: ["POST", accountPath(account, "price-consent"), { productID: subscription.productID, agrees }],
            command: command("price-consent " + (agrees ? "agree" : "decline"), [account, subscription.productID]),
            done: agrees ? "The customer agreed to the higher price." : "The customer declined the higher price." }),
        });

        const statuses = { active: ["active", "good"], expired: ["expired", ""], billingRetry: ["billing retry", "bad"], gracePeriod: ["grace period", "warn"], revoked: ["revoked", "bad"] };
        const intents = { 1: "the customer cancelled", 2: "billing failed", 3: "the customer did not agree to a price increase", 4: "the product was withdrawn", 5: "another reason" };
        // The next date of a subscription, and what happens then.
        const nextOf = (subscription) => {
          const name = nameOf(subscription.productID), { bill, billCount } = subscription.commitment || {};
          if (subscription.status === "active" && bill < billCount) return [subscription.expiresAt, "bill " + (bill + 1) + " of " + billCount + " of " + name + " is due"];
          switch (subscription.status) {
            case "active": return [subscription.expiresAt, renewsOf(subscription) ? name + " renews" + (subscription.renewsTo === subscription.productID ? "" : " to " + nameOf(subscription.renewsTo)) : name + " ends"];
            case "gracePeriod": return [subscription.gracePeriodUntil, "the grace period of " + name + " ends"];
            case "billingRetry": return [subscription.billingRetryUntil, "billing retry of " + name + " ends"];
            default: return [null, subscription.expirationIntent ? "Ended because " + intents[subscription.expirationIntent] + "." : "Ended."];
          }
        };
        // The button that moves the time by the period of a subscription. A withdrawn product has no button.
        const onePeriod = ({ productID, commitment }) => {
          const { period } = (state.products.find((product) => product.id === productID) || {}).subscription || {};
          const length = commitment ? "P1M" : period;
          return period && button(jumpBy({ period: length }, "+1 period (" + periodText(length) + ")"), "of " + productID);
        };
        const subscriptionButtons = (account, subscription) => {
          const about = subscription.productID, hasStatus = (...words) => words.includes(subscription.status);
          const actionButton = (label, word, done, rest) => button(subscriptionAction(account, subscription, label, word, done, rest), about);
          if (subscription.sharedBy) return [make("p", { class: "soft" }, "Shared by " + subscription.sharedBy + ", whose account has the actions.")];
          if (hasStatus("expired", "revoked")) return [];
          return [
            subscription.priceIncrease === "pending" && [button(consent(account, subscription, true), about), button(consent(account, subscription, false), about)],
            renewsOf(subscription) && [button(openScreen(account, subscription), about), actionButton("Cancel", "cancel", cancelled(subscription), { after: (sale) => keepScreen(account, subscription, sale.retentionMessage) })], button(resume(account, subscription), about),
            onePeriod(subscription), actionButton("Renew now", "renew", "The next period is sold."), actionButton("Fail billing", "fail-billing", "Payments fail from the next renewal on."),
            actionButton("Resolve billing", "resolve-billing", "Payments work again."), seatButtons(account, subscription),
            actionButton("Expire", "expire", "The period has ended.", { title: "End the current period of " + about + "?", isRisky: true, warning: "The customer loses access now. This cannot be reversed." }),
          ];
        };

        const drawSubscriptions = () => {
          const account = state.account, width = $("subscriptions").clientWidth || 800, now = virtualNow();
          const begin = state.transactions.length > 0 ? Date.parse(state.transactions[0].purchaseDate) : now;
          const step = Math.floor(200 * Math.log(Math.max(1, now - begin)));
          draw($("subscriptions"), [account, state.subscriptions, state.seats, state.transactions, state.products, state.accounts.length, state.subscriptions.map((subscription) => screens.get(screenKey(account, subscription))), step, Math.floor(width / 150)], () => {
            if (state.subscriptions.length === 0) return make("p", { class: "soft" }, "This account has no subscription.");
            const cards = state.subscriptions.map((subscription) => {
              const [word, tone] = statuses[subscription.status] || [subscription.status, ""], [date, text] = nextOf(subscription);
              return make("li", {}, make("div", { class: "line" }, make("h4", {}, nameOf(subscription.productID)), pill(word, tone),
                subscription.commitment && pill("bill " + subscription.commitment.bill + " of " + subscription.commitment.billCount, "plain"),
                !renewsOf(subscription) && subscription.status === "active" && pill("will not renew", "warn"),
                subscription.priceIncrease && pill("price increase " + subscription.priceIncrease, "warn")),
                make("p", { class: "soft" }, date ? ["On ", timeElement(date), ": ", text, "."] : text), seatsText(subscription) && make("p", { class: "soft" }, seatsText(subscription)), make("div", { class: "buttons" }, subscriptionButtons(account, subscription)), screenBox(account, subscription));
            });
            return [timeline("timeline", state.subscriptions.map((subscription) => [nameOf(subscription.productID), segments(subscription, now)]), width), make("ul", { class: "list", "aria-label": "Subscriptions" }, cards)];
          });
        };

        """#
}
