extension FrontDeskPage {
    /// The script of Google Play: what it sells, and the purchases of the chosen account with their actions.
    static let playScript: StaticString = #"""
        const hasPlay = $("play-desk") !== null;
        // Reads what Google Play sells, and the purchases and orders of an account.
        const readPlay = async (name) => {
          if (!hasPlay) return {};
          const [{ products: playProducts }, { purchases: playPurchases }, { orders: playOrders }] = await Promise.all([
            request("GET", path("play", "products")), request("GET", accountPath(name, "play-purchases")), request("GET", accountPath(name, "play-orders"))]);
          return { playProducts, playPurchases, playOrders };
        };
        const playProduct = (id) => state.playProducts.find((product) => product.productID === id);
        const playName = (id) => (playProduct(id) || {}).title || id;
        const playPlan = ({ productID, basePlanID }) => ((playProduct(productID) || {}).basePlans || []).find((plan) => plan.basePlanID === basePlanID);
        const planPrice = (plan) => priceOf(plan.price) + " / " + periodText(plan.period).replace(/^1 /, "");
        const phaseText = ({ duration, count, price }) => Number(price.amount) === 0 ? periodText(duration, count) + " free"
          : priceOf(price) + (count > 1 ? " every " + periodText(duration).replace(/^1 /, "") : "") + " for " + periodText(duration, count);
        const playOfferText = (offer) => offer.phases.map(phaseText).join(", then ");
        const planKinds = { autoRenewing: "renews", prepaid: "prepaid", installments: "instalments" };
        const replacementModes = ["WITH_TIME_PRORATION", "CHARGE_PRORATED_PRICE", "WITHOUT_PRORATION", "CHARGE_FULL_PRICE", "DEFERRED"];

        const playBuy = (product, account) => {
          const plans = product.basePlans || [], options = product.options || [];
          const running = plans.length > 0 ? state.playPurchases.filter((purchase) => purchase.kind === "subscription" && !isOver(purchase)) : [];
          return {
            label: "Buy", title: "Buy " + product.title + " on Google Play for " + account, tone: "main",
            fields: [
              plans.length > 0 && { name: "plan", label: "Base plan and offer", options: plans.flatMap((plan) => [[JSON.stringify([plan.basePlanID]), plan.basePlanID + ": " + planPrice(plan)],
                ...product.offers.filter((offer) => offer.basePlanID === plan.basePlanID).map((offer) => [JSON.stringify([plan.basePlanID, offer.offerID]), plan.basePlanID + " with the offer " + offer.offerID + ": " + playOfferText(offer)])]) },
              options.length > 0 && { name: "option", label: "Purchase option and offer", options: options.flatMap((option) => [[JSON.stringify([option.purchaseOptionID]), option.purchaseOptionID + ": " + priceOf(option.price)],
                ...(option.offers || []).map((offer) => [JSON.stringify([option.purchaseOptionID, offer.offerID]), option.purchaseOptionID + " with the offer " + offer.offerID + ": " + priceOf(offer.price)])]) },
              options.some((option) => option.allowsSeveral) && { name: "quantity", label: "Quantity", type: "number", min: 1, max: 100, value: 1, required: true },
              running.length > 0 && { name: "replaces", label: "Replaces", options: [["", "no subscription"], ...running.map((purchase) => [purchase.purchaseToken, playName(purchase.productID) + ", " + purchase.basePlanID])] },
              running.length > 0 && { name: "mode", label: "Replacement mode", options: [["", "none, for a top-up"], ...replacementModes.map((mode) => [mode, mode])] },
              { name: "customer", label: "Obfuscated account id (optional)", maxlength: 64, hint: "The customer's account in the app" },
              { name: "waits", label: "This purchase waits for its payment", type: "checkbox" },
              { name: "tests", label: "The customer is a licence tester", type: "checkbox" },
            ].filter(Boolean),
            plan: ({ plan = "", option = "", quantity = "1", replaces = "", mode = "", customer = "", waits = false, tests = false }) => {
              const [basePlanID, planOffer] = plan ? JSON.parse(plan) : [], [optionID, optionOffer] = option ? JSON.parse(option) : [], offerID = planOffer || optionOffer, body = { productID: product.productID }, words = [];
              const add = (member, value, ...option) => { if (value) { body[member] = value; words.push(...option); } };
              add("basePlanID", basePlanID, "--base-plan", basePlanID);
              add("purchaseOptionID", optionID, "--option", optionID);
              add("offerID", offerID, "--offer", offerID);
              if (quantity !== "1") add("quantity", Number(quantity), "--quantity", quantity);
              add("oldPurchaseToken", replaces, "--replaces", replaces);
              add("replacementMode", mode, "--replacement-mode", mode);
              add("obfuscatedAccountID", customer, "--obfuscated-account-id", customer);
              add("isPending", waits, "--pending");
              add("isTest", tests, "--test");
              return { call: ["POST", accountPath(account, "play-buy"), body], command: command("play buy", [account, product.productID], words),
                done: (sale) => waits ? "The purchase of " + sale.productId + " waits for its payment." : "Sold " + sale.productId + " with the order " + sale.orderId + "." };
            },
          };
        };

        const drawPlayProducts = () => {
          const account = state.account;
          draw($("play-products"), [state.playProducts, state.playPurchases, account], () => state.playProducts.length === 0
            ? make("li", { class: "soft" }, "The catalogue of Google Play has no products that are sold.")
            : state.playProducts.map((product) => make("li", {}, make("div", { class: "grow" }, make("h4", {}, product.title), make("code", {}, product.productID),
              (product.basePlans || []).map((plan) => make("p", {}, make("span", { class: "price" }, planPrice(plan)), " ", make("span", { class: "soft" },
                plan.basePlanID + ", " + planKinds[plan.kind] + (plan.committedPayments ? ", " + plan.committedPayments + " payments committed" : "")))),
              (product.offers || []).map((offer) => make("p", { class: "soft" }, "Offer " + offer.offerID + " of " + offer.basePlanID + ": " + playOfferText(offer))),
              (product.options || []).map((option) => make("p", {}, make("span", { class: "price" }, priceOf(option.price)), " ", make("span", { class: "soft" }, option.purchaseOptionID))),
              (product.options || []).flatMap((option) => option.offers || []).map((offer) => make("p", { class: "soft" }, "Offer " + offer.offerID + ": " + priceOf(offer.price)))),
              make("div", { class: "buttons" }, button(playBuy(product, account), product.title)))));
        };

        // Whether a purchase has ended, so that nothing can be done with it.
        const isOver = ({ state }) => ["expired", "pendingPurchaseCanceled", "cancelled"].includes(state);
        // Whether the customer can buy an ended subscription again in the Play Store.
        const canReturn = ({ state: word, productID, purchaseToken }) => word === "expired"
          && state.playPurchases.filter((other) => other.productID === productID && other.state !== "pendingPurchaseCanceled").slice(-1).every((last) => last.purchaseToken === purchaseToken);
        const playStates = {
          pending: ["waits for payment", "warn"], purchased: ["purchased", "good"], cancelled: ["cancelled", "bad"], active: ["active", "good"], canceled: ["cancelled", "warn"],
          inGracePeriod: ["grace period", "warn"], onHold: ["account hold", "bad"], paused: ["paused", "warn"], expired: ["expired", ""], pendingPurchaseCanceled: ["declined", ""],
        };
        const isReviewed = ({ refundReview }) => refundReview && !refundReview.isDecided;
        // The next dates of a purchase, and what happens then: [date, text].
        const playDates = (purchase) => {
          const name = playName(purchase.productID), { scheduledPause, paymentsFail, autoRenews } = purchase;
          const texts = {
            active: scheduledPause ? name + " is paused" : paymentsFail ? "the payment of " + name + " fails" : name + (autoRenews ? " renews" : " ends"), canceled: name + " ends",
            inGracePeriod: "the grace period of " + name + " ends", onHold: "the account hold of " + name + " ends", paused: "the pause of " + name + " ends",
          };
          return [[purchase.changesAt, texts[purchase.state]], [purchase.acknowledgeBy, name + " is refunded unless it is acknowledged"], [isReviewed(purchase) && purchase.refundReview.deadline, "the chargeback of " + name + " is decided"]].filter(([date]) => date);
        };

        const playPath = (token, word) => path("play", "purchases", token, word);
        const playAction = (purchase, label, word, done, rest = {}) => ({
          label, ...rest, plan: () => ({ call: ["POST", playPath(purchase.purchaseToken, word)], command: command("play " + word, [purchase.purchaseToken]), done }),
        });
        const playPause = (purchase) => ({
          label: "Pause", title: "Pause " + playName(purchase.productID) + " from the end of its period on",
          fields: [{ name: "period", label: "Length", value: "P1M", options: ["P1W", "P1M", "P2M", "P3M"].map((period) => [period, periodText(period)]) }],
          plan: ({ period = "P1M" }) => ({ call: ["POST", playPath(purchase.purchaseToken, "pause"), { period }], command: command("play pause", [purchase.purchaseToken, period]),
            done: "The subscription pauses at the end of its period." }),
        });
        const playPriceChange = (purchase) => ({
          label: "Change price", title: "Change the price of " + playName(purchase.productID) + " for this subscriber",
          fields: [{ name: "price", label: "New price in the currency of the subscription", required: true, pattern: "(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?", inputmode: "decimal", hint: "A number such as 5.99" },
            { name: "isOptOut", label: "An increase needs no consent (opt-out)", type: "checkbox" }],
          plan: ({ price = "", isOptOut = false }) => ({ call: ["POST", playPath(purchase.purchaseToken, "price-change"), { price, ...(isOptOut && { isOptOut }) }],
            command: command("play price-change", [purchase.purchaseToken, price], isOptOut ? ["--opt-out"] : []), done: "The price changes to " + price + " at a later renewal." }),
        });
        const consentOf = ({ priceChange, priceStepUp }) => (priceChange && priceChange.state === "OUTSTANDING") || (priceStepUp && priceStepUp.state === "PENDING");
        const playRefund = (purchase, label, word, warning, done, isRefund = false) => {
          const orders = state.playOrders.filter((order) => order.purchaseToken === purchase.purchaseToken && order.state !== "REFUNDED").reverse();
          return {
            label, title: label + " of " + playName(purchase.productID) + "?", isRisky: true, submitLabel: label, warning,
            fields: [{ name: "order", label: "Order", options: [["", "the latest one"], ...orders.map((order) => [order.orderID, order.orderID + ", " + priceOf(order.total)])] },
              isRefund && purchase.refundableQuantity > 1 && { name: "quantity", label: "Quantity (optional)", type: "number", min: 1, max: purchase.refundableQuantity, hint: "Without it, all items are refunded." },
              isRefund && { name: "keeps", label: "The customer keeps the purchase", type: "checkbox" }].filter(Boolean),
            plan: ({ order = "", quantity = "", keeps = false }) => ({ call: ["POST", playPath(purchase.purchaseToken, word), { ...(order && { orderID: order }), ...(quantity && { quantity: Number(quantity) }), ...(keeps && { keepsPurchase: true }) }],
              command: command("play " + word, [purchase.purchaseToken], [...(order ? ["--order", order] : []), ...(quantity ? ["--quantity", quantity] : []), ...(keeps ? ["--keep"] : [])]), done }),
          };
        };
        const playPeriod = (purchase) => {
          const plan = playPlan(purchase);
          return plan && button(jumpBy({ period: plan.period }, "+1 period (" + periodText(plan.period) + ")"), "of " + purchase.basePlanID);
        };
        const playButtons = (purchase) => {
          const { productID, purchaseToken, state: word, autoRenews, paymentsFail } = purchase, about = productID + " " + purchaseToken.slice(0, 6);
          const actionButton = (label, word, done, rest) => button(playAction(purchase, label, word, done, rest), about);
          if (isOver(purchase)) return [canReturn(purchase) && actionButton("Resubscribe", "resubscribe", "The customer bought the subscription again, without the app.")];
          if (word === "pending") return [actionButton("Complete", "complete", "The purchase is paid.", { tone: "main" }),
            actionButton("Decline", "decline", "The purchase is declined.", { title: "Decline the purchase of " + playName(productID) + "?", isRisky: true, warning: "The customer does not get the product." })];
          return [
            !purchase.isAcknowledged && actionButton("Acknowledge", "acknowledge", "The purchase is acknowledged.", { tone: "main" }),
            purchase.isConsumed === false && actionButton("Consume", "consume", "The product is consumed. The account can buy it again."),
            autoRenews && actionButton("Cancel", "cancel", "The renewal is off."), word === "canceled" && actionButton("Restart", "restart", "The renewal is on again."),
            word === "active" && autoRenews && button(playPause(purchase), about), (word === "paused" || purchase.scheduledPause) && actionButton("Resume", "resume", "The pause is over."),
            autoRenews && !paymentsFail && actionButton("Fail payments", "hold", "Payments fail from the next renewal on."), paymentsFail && actionButton("Recover", "recover", "Payments work again."),
            consentOf(purchase) && actionButton("Agree to the price", "agree", "The customer agreed to the new price.", { tone: "main" }),
            autoRenews && !purchase.replacesAtEnd && (playPlan(purchase) || {}).kind === "autoRenewing" && button(playPriceChange(purchase), about),
            purchase.kind === "subscription" && playPeriod(purchase),
            button(playRefund(purchase, "Refund", "refund", "The customer loses access, unless the customer keeps the purchase or other items of it.", "The payment is returned.", true), about),
            button(playRefund(purchase, "Chargeback", "chargeback", "The customer's bank takes the payment back, and the customer loses access.", "The payment is returned."), about),
            !isReviewed(purchase) && button(playRefund(purchase, "Request chargeback", "request-chargeback", "The developer can review the chargeback within 24 hours. Then it is decided.", "The chargeback is under review for 24 hours."), about),
          ];
        };

        // Returns the parts of a subscription for the timeline, oldest first.
        const playSegments = (purchase, now) => {
          const orders = state.playOrders.filter((order) => order.purchaseToken === purchase.purchaseToken && order.until).slice(-periodLimit), name = playName(purchase.productID);
          const parts = [], add = (kind, from, to) => { if (to > from) parts.push({ kind, from, to, name }); };
          const phases = { FREE_TRIAL: "trial", INTRODUCTORY: "offer" }, date = (text) => text ? Date.parse(text) : 0;
          const isEnded = purchase.state === "expired", end = isEnded ? date(purchase.expiryTime) : Infinity, until = date(purchase.changesAt);
          orders.forEach((order, index) => {
            const next = orders[index + 1], isRunning = !next && ["active", "canceled"].includes(purchase.state);
            add(phases[order.phase] || "paid", date(order.from), Math.min(isRunning ? Math.max(date(order.until), until) : date(order.until), next ? date(next.from) : end));
          });
          const last = orders[orders.length - 1];
          if (purchase.state === "inGracePeriod" && last) add("grace", date(last.until), date(purchase.expiryTime));
          if (purchase.state === "onHold" && last) add("grace", date(last.until), date(purchase.expiryTime));
          if (purchase.state === "onHold") add("hold", date(purchase.expiryTime), until);
          if (purchase.state === "paused") add("paused", date(purchase.expiryTime), until);
          if (!isEnded || !last) return parts;
          const lost = last.refundedAt ? date(last.until) : end;
          add("revoked", end, lost);
          add("expired", Math.max(end, lost), now);
          return parts;
        };

        """#

    /// The script that draws the purchases, orders and notifications of Google Play.
    static let playListScript: StaticString = #"""
        const copyToken = (purchase) => make("button", { type: "button", "data-key": "copy " + purchase.purchaseToken, click: (event) => copy(purchase.purchaseToken, event.target) }, "Copy token");
        const leftText = (date) => remainingText(Math.max(0, Date.parse(date) - virtualNow()));
        const drawPlayPurchases = () => {
          const width = $("play-purchases").clientWidth || 800, now = virtualNow(), purchases = state.playPurchases;
          const begin = state.playOrders.length > 0 ? Date.parse(state.playOrders[0].at) : now, step = Math.floor(200 * Math.log(Math.max(1, now - begin)));
          draw($("play-purchases"), [state.account, purchases, state.playOrders, state.playProducts, step, Math.floor(now / 3600000), Math.floor(width / 150)], () => {
            if (purchases.length === 0) return make("p", { class: "soft" }, "This account has bought nothing on Google Play yet.");
            const cards = purchases.slice().reverse().map((purchase) => {
              const [word, tone] = playStates[purchase.state] || [purchase.state, ""], dates = playDates(purchase), code = [purchase.basePlanID, purchase.offerID].filter(Boolean).join(", ");
              return make("li", {}, make("div", { class: "line" }, make("h4", {}, playName(purchase.productID), purchase.quantity > 1 && " × " + purchase.quantity), code && make("code", {}, code), pill(word, tone),
                purchase.acknowledgeBy ? pill("acknowledge " + leftText(purchase.acknowledgeBy), "warn") : purchase.isAcknowledged && pill("acknowledged", "plain"),
                purchase.isConsumed && pill("consumed", "plain"), isReviewed(purchase) && pill("chargeback under review" + (purchase.refundReview.preference ? ": " + purchase.refundReview.preference.toLowerCase() : ""), "bad"), purchase.paymentsFail && !isOver(purchase) && pill("payments fail", "bad"), purchase.scheduledPause && pill("pause of " + periodText(purchase.scheduledPause), "warn"), purchase.replacesAtEnd && pill("deferred", "warn"),
                purchase.priceChange && purchase.priceChange.state !== "APPLIED" && !isOver(purchase) && pill("price change " + purchase.priceChange.state.toLowerCase(), "warn"), purchase.priceStepUp && purchase.priceStepUp.state !== "COMPLETED" && !isOver(purchase) && pill("price step-up " + purchase.priceStepUp.state.toLowerCase(), "warn")),
                purchase.replacesAtEnd && make("p", { class: "soft" }, "Until its first payment, the customer has " + playName(purchase.replacesAtEnd) + "."),
                [purchase.priceChange, purchase.priceStepUp].filter((change) => change && change.at && !isOver(purchase)).map((change) => make("p", { class: "soft" }, "The price becomes " + priceOf(change.price) + " on ", timeElement(change.at), consentOf(purchase) ? ", if the customer agrees." : ".")),
                dates.map(([date, text]) => make("p", { class: "soft" }, "On ", timeElement(date), ": ", text, ".")),
                purchase.expiryTime && make("p", { class: "soft" }, Date.parse(purchase.expiryTime) > now ? "Access until " : "Access ended on ", timeElement(purchase.expiryTime), "."),
                make("p", { class: "soft" }, "Order ", make("code", {}, purchase.orderID), ", token ", make("code", { title: purchase.purchaseToken }, purchase.purchaseToken.slice(0, 12) + "…")),
                make("div", { class: "buttons" }, playButtons(purchase), copyToken(purchase)));
            });
            return [timeline("play-timeline", purchases.filter((purchase) => purchase.kind === "subscription").map((purchase) => [playName(purchase.productID), playSegments(purchase, now)]), width),
              make("ul", { class: "list", "aria-label": "Purchases on Google Play" }, cards)];
          });
        };

        const orderTones = { PROCESSED: "good", PARTIALLY_REFUNDED: "warn", REFUNDED: "bad" };
        const orderState = (order) => pill(order.state.toLowerCase().replaceAll("_", " "), orderTones[order.state]);
        const drawPlayOrders = () => {
          const found = state.playOrders.slice().reverse();
          draw($("play-orders"), [found, state.playProducts, shown.playOrders], () => {
            if (found.length === 0) return make("p", { class: "soft" }, "This account has no orders.");
            const rows = found.slice(0, shown.playOrders).map((order) => make("tr", {}, make("th", { scope: "row" }, playName(order.productID), order.quantity > 1 && " × " + order.quantity, make("code", {}, order.orderID),
              make("span", { class: "narrow soft" }, instant(order.at), " ", orderState(order))),
              make("td", { class: "wide" }, timeElement(order.at)), make("td", { class: "wide" }, order.until ? timeElement(order.until) : "–"),
              make("td", { class: "number" }, priceOf(order.total), order.phase && order.phase !== "BASE" && make("span", { class: "soft below" }, kindNames[{ FREE_TRIAL: "trial", INTRODUCTORY: "offer" }[order.phase]] || order.phase)),
              make("td", { class: "wide" }, orderState(order), order.refundedAt && make("span", { class: "soft below" }, instant(order.refundedAt)))));
            return [table("Orders, newest first", [["Order"], ["Paid", "wide"], ["Until", "wide"], ["Total", "number"], ["State", "wide"]], rows), more("playOrders", found.length, drawPlayOrders)];
          });
        };

        const playReader = { limit: readLimit, isComplete: true };
        // The notifications are read only while they are shown.
        const readPlayNotifications = async () => {
          if (!hasPlay || state.view !== "play") return;
          const { generation } = reader, isOpen = (notification) => notification.due || notification.attempts.some((attempt) => !attempt.result);
          const [notifications, isComplete] = await readNumbered(["play", "notifications"], "notifications", state.playNotifications, isOpen, playReader.limit);
          if (generation !== reader.generation) return;
          Object.assign(playReader, { isComplete });
          state.playNotifications = notifications;
        };
        const playResend = ({ number, type }) => ({
          label: "Resend", plan: () => ({ call: ["POST", path("play", "notifications", number, "resend")], command: command("play resend", [number]), done: "The notification " + type + " is sent again." }),
        });
        const playDeliver = {
          label: "Deliver now", plan: () => ({ call: ["POST", path("play", "notifications", "deliver")], command: command("play deliver"),
            done: ({ waiting }) => waiting === 0 ? "All notifications have arrived." : plural(waiting, "notification") + " will be sent again later." }),
        };
        const playTest = { label: "Send a test notification", plan: () => ({ call: ["POST", path("play", "test-notification")], command: command("play test-notification"), done: "A test notification is sent." }) };
        const pushTone = ({ result }) => !result ? "" : /^(102|20[0124])$/.test(result) ? "good" : "bad";
        const drawPlayNotifications = () => {
          const url = state.settings.playNotificationsURL, isSent = url && url !== "off", found = state.playNotifications.slice().reverse();
          $("play-notifications-note").textContent = isSent ? "They are pushed to " + url + ", for all accounts." : "No URL is set, so Google Play writes no notifications. Change playNotificationsURL in the settings.";
          draw($("play-notification-buttons"), isSent, () => isSent ? [button(playDeliver, "the notifications of Google Play"), button(playTest)] : []);
          draw($("play-notifications"), [found, Array.from(opened), shown.playNotifications, state.playProducts, playReader.isComplete], () => {
            if (found.length === 0) return make("p", { class: "soft" }, "There are no notifications.");
            const rows = found.slice(0, shown.playNotifications).flatMap((notification) => {
              const { number, attempts, productID, purchaseToken, orderID } = notification, last = attempts[attempts.length - 1], id = "push " + number;
              const row = make("tr", {}, make("th", { scope: "row" }, make("code", { class: "name" }, breakable(notification.type)), productID && make("span", { class: "soft below" }, playName(productID)),
                make("span", { class: "narrow soft" }, [instant(notification.at), notification.account].filter(Boolean).join(", "))),
                make("td", { class: "wide" }, timeElement(notification.at)), make("td", { class: "wide" }, notification.account || "–"),
                make("td", {}, last ? pill(resultText(last), pushTone(last)) : pill("not sent"), make("span", { class: "soft below" }, plural(attempts.length, "attempt"))),
                make("td", { class: "end" }, fold(id, "notification " + number + " " + notification.type, drawPlayNotifications)));
              if (!opened.has(id)) return [row];
              return [row, make("tr", { class: "more" }, make("td", { colspan: 5 }, make("div", { class: "line" }, button(playResend(notification), "notification " + number)),
                orderID && make("p", { class: "soft" }, "Order ", make("code", {}, orderID)), purchaseToken && make("p", { class: "soft" }, "Token ", make("code", {}, purchaseToken)),
                attempts.length > 0 && make("ol", { class: "attempts", "aria-label": "Attempts" }, attempts.map((attempt) => make("li", {}, timeElement(attempt.at), " ", pill(resultText(attempt), pushTone(attempt))))),
                notification.due && make("p", { class: "soft" }, "It is sent next on ", timeElement(notification.due), ".")))];
            });
            return [table("Notifications of Google Play, newest first", [["Type"], ["Time", "wide"], ["Account", "wide"], ["Delivery"], [make("span", { class: "hidden-label" }, "Details"), "end"]], rows),
              more("playNotifications", found.length, drawPlayNotifications), !playReader.isComplete && readMore("playNotifications", playReader)];
          });
        };

        const drawPlay = () => {
          if (!hasPlay || !state.isLoaded) return;
          const names = state.accounts.map(({ name }) => name);
          draw($("play-account"), [names, state.account], () => names.map((name) => make("option", { value: name, selected: name === state.account }, name)));
          $("play-choice").hidden = names.length === 0;
          $("play-no-account").hidden = names.length > 0;
          $("play-desk").hidden = !chosen();
          if (!chosen()) return;
          drawPlayProducts();
          drawPlayPurchases();
          drawPlayOrders();
          drawPlayNotifications();
        };
        if (hasPlay) {
          $("play-choice").addEventListener("submit", (event) => event.preventDefault());
          $("play-account").addEventListener("change", () => chooseAccount($("play-account").value));
        }

        """#
}
