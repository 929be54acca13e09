extension FrontDeskPage {
    /// The script of the products, purchases, and offer codes.
    static let productScript: StaticString = #"""
        const kinds = {
          consumable: "Consumable", nonConsumable: "Non-consumable", autoRenewableSubscription: "Subscription", nonRenewingSubscription: "Non-renewing subscription",
        };
        const kindOf = (product) => kinds[product.kind] || product.kind;
        const priceOf = (price) => price ? money(Number(price.amount), price.currency) : "";

        // An offer can last several periods.
        const offerText = (offer) => {
          const time = periodText(offer.period, offer.periodCount);
          if (offer.paymentMode === "FREE_TRIAL") return time + " free";
          return priceOf(offer.price) + (offer.paymentMode === "PAY_AS_YOU_GO" ? " every " + periodText(offer.period).replace(/^1 /, "") : "") + " for " + time;
        };
        const offersOf = (product) => {
          const terms = product.subscription || {};
          return [...offersIn(terms), ...offersIn(terms.monthlyPlan || {}).map((entry) => [...entry, "monthly"])];
        };
        const offersIn = (terms) => [...(terms.promotionalOffers || []).map((offer) => ["promotional", offer]), ...(terms.winBackOffers || []).map((offer) => ["winBack", offer])];
        const billsText = (plan) => plan.billCount + " bills of " + priceOf(plan.price);

        const buy = (product, account) => {
          const offers = offersOf(product).map(([kind, offer, plan]) => [JSON.stringify([kind, offer.id, plan]),
            offer.id + " (" + kind + (plan ? ", billed monthly" : "") + "): " + offerText(offer)]);
          const introductory = product.subscription && product.subscription.introductoryOffer, monthly = product.subscription && product.subscription.monthlyPlan;
          return {
            label: "Buy", title: "Buy " + (product.displayName || product.id) + " for " + account, tone: "main",
            fields: [
              ["consumable", "nonRenewingSubscription"].includes(product.kind) && { name: "quantity", label: "Quantity", type: "number", min: 1, max: 10, value: 1, required: true },
              monthly && { name: "billingPlan", label: "Billing plan", options: [["", "paid up front: " + product.displayPrice],
                ["monthly", "monthly, with a commitment: " + billsText(monthly) + (monthly.introductoryOffer ? ", after " + offerText(monthly.introductoryOffer) + " for a new subscriber" : "")]] },
              (offers.length > 0 || introductory) && { name: "offer", label: "Offer", options: [
                ["", introductory ? "introductory, for a new subscriber: " + offerText(introductory) : "the price of the product"],
                ...(introductory ? [["none", "none: the price of the product"]] : []), ...offers] },
              state.devices.length > 0 && { name: "device", label: "Device that pays", options: [["", "none, outside of the app"], ...state.devices.map(({ deviceID }) => [deviceID, deviceID])],
                hint: "A device pays as the app does. It gets the result, and injected errors apply." },
              { name: "token", label: "App account token (optional)", pattern: "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", hint: "A UUID that the app gives each customer" },
              { name: "asks", label: "This purchase waits for approval (Ask to Buy)", type: "checkbox" },
            ].filter(Boolean),
            plan: ({ quantity = "1", billingPlan = "", offer = "", device = "", token = "", asks = false }) => {
              const [offerKind, offerID, offerPlan] = offer && offer !== "none" ? JSON.parse(offer) : [], body = { productID: product.id }, options = [];
              if (offerPlan || (billingPlan && !offerID)) { body.billingPlan = "monthly"; options.push("--billing-plan", "monthly"); }
              if (quantity !== "1") { body.quantity = Number(quantity); options.push("--quantity", quantity); }
              if (offerID) { Object.assign(body, { offerID, offerKind }); options.push("--offer", offerID, "--offer-kind", offerKind); }
              if (offer === "none") { body.allowsIntroductoryOffer = false; options.push("--no-introductory-offer"); }
              if (device) { body.deviceID = device; options.push("--device", device); }
              if (token) { body.appAccountToken = token; options.push("--app-account-token", token); }
              if (asks) { body.simulatesAskToBuy = true; options.push("--simulate-ask-to-buy"); }
              return { call: ["POST", accountPath(account, "buy"), body], command: command("buy", [account, product.id], options), done: sold };
            },
          };
        };
        const sold = (transaction) => ({
          deferred: "The purchase " + transaction.transactionID + " waits for approval.",
          interrupted: "The purchase " + transaction.transactionID + " is interrupted until it is resolved.",
        })[transaction.state] || "Sold " + transaction.productID + " with the transaction " + transaction.transactionID + ".";

        const increasePrice = (product) => ({
          label: "Increase price", title: "Increase the price of " + (product.displayName || product.id) + "?", isRisky: true, submitLabel: "Increase price",
          warning: "The price rises for all subscribers from their next renewal on, and cannot be lowered again. Now it is " + product.displayPrice + ".",
          fields: [
            { name: "price", label: "New price in the currency of the catalogue", required: true, pattern: "(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?", inputmode: "decimal", hint: "A number such as 5.99" },
            { name: "needsConsent", label: "Customers must agree", type: "checkbox", value: true, hint: "Without their consent the subscription ends." },
          ],
          plan: ({ price = "", needsConsent = true }) => ({ call: ["POST", path("products", product.id, "price-increase"), { price, needsConsent }],
            command: command("price-increase", [product.id, price], needsConsent ? [] : ["--no-consent"]), done: "The price of " + product.id + " is " + price + " from the next renewal on." }),
        });

        const promote = (product, account) => {
          const offers = ((product.subscription || {}).winBackOffers || []).map((offer) => [offer.id, offer.id + ": " + offerText(offer)]);
          return {
            label: "Promote", title: "Begin a purchase of " + (product.displayName || product.id) + " on the page of the app in the App Store", submitLabel: "Begin the purchase",
            fields: offers.length > 0 ? [{ name: "offer", label: "Win-back offer", options: [["", "none"], ...offers] }] : undefined,
            plan: ({ offer = "" }) => ({ call: ["POST", accountPath(account, "promote"), offer ? { productID: product.id, offerID: offer } : { productID: product.id }],
              command: command("promote", [account, product.id], offer ? ["--offer", offer] : []),
              done: "The purchase of " + product.id + " has begun. The first device of " + account + " that takes it completes it." }),
          };
        };
        const withdraw = (product) => ({
          label: "Withdraw", title: "Withdraw " + (product.displayName || product.id) + " from sale?", isRisky: true, submitLabel: "Withdraw",
          warning: "No account can buy the product. Its subscriptions end with their periods. You can offer it again.",
          plan: () => ({ call: ["POST", path("products", product.id, "withdraw")], command: command("product withdraw", [product.id]), done: product.id + " is withdrawn from sale." }),
        });
        const offerAgain = (product) => ({
          label: "Offer again",
          plan: () => ({ call: ["POST", path("products", product.id, "offer")], command: command("product offer", [product.id]), done: product.id + " is sold again." }),
        });

        const redeemCode = (entry, account) => ({
          label: "Redeem",
          plan: () => ({ call: ["POST", accountPath(account, "redeem"), { code: entry.code }], command: command("redeem", [account, entry.code]), done: sold }),
        });
        const codeTones = { available: "good", redeemed: "plain", unavailable: "warn" };
        const drawOfferCodes = () => {
          const account = state.account;
          $("codes-box").hidden = state.offerCodes.length === 0;
          draw($("codes"), [state.offerCodes, state.products, account], () => state.offerCodes.map((entry) => make("li", { class: "line" },
            make("span", {}, make("code", { class: "name" }, entry.code), " ", pill(entry.state, codeTones[entry.state]),
              make("span", { class: "soft below" }, nameOf(entry.productID) + ": " + offerText(entry.offer) + ", for " + (entry.eligibility.length === 3 ? "all" : entry.eligibility.join(" and ")) + " customers"),
              entry.reason && make("span", { class: "soft below" }, entry.reason)),
            entry.state === "available" && button(redeemCode(entry, account), entry.code))));
        };

        const drawProducts = () => {
          const account = chosen();
          if (!account) return;
          draw($("products"), [state.products, state.devices, account.name], () => state.products.length === 0
            ? make("li", { class: "soft" }, "The catalogue has no products. Start souk simulate with --catalog.")
            : state.products.map((product) => {
              const terms = product.subscription, offers = offersOf(product);
              return make("li", {}, make("div", { class: "grow" }, make("h4", {}, product.displayName || product.id), make("code", {}, product.id),
                make("p", { class: "soft" }, [kindOf(product), product.isFamilyShareable && "shared with the family"].filter(Boolean).join(", ")),
                terms && terms.introductoryOffer && make("p", { class: "soft" }, "Introductory offer: " + offerText(terms.introductoryOffer)),
                offers.length > 0 && make("p", { class: "soft" }, plural(offers.length, "further offer"))),
              make("div", { class: "sale" }, make("p", { class: "price" }, product.displayPrice, terms && make("span", { class: "soft" }, " / " + periodText(terms.period).replace(/^1 /, ""))),
                terms && terms.monthlyPlan && make("p", { class: "soft" }, "or " + billsText(terms.monthlyPlan)),
                button(buy(product, account.name), product.displayName || product.id)),
              make("div", { class: "buttons minor" }, button(promote(product, account.name), product.id), terms && button(increasePrice(product), "of " + product.id), button(withdraw(product), product.id)));
            }));
          $("withdrawn-box").hidden = state.withdrawn.length === 0;
          draw($("withdrawn"), state.withdrawn, () => state.withdrawn.map((product) => make("li", { class: "line" },
            make("span", {}, product.displayName || product.id, " ", make("code", {}, product.id)), button(offerAgain(product), product.id))));
          draw($("code-product"), state.products, () => [make("option", { value: "" }, "any product"),
            ...state.products.filter((product) => product.subscription).map((product) => make("option", { value: product.id }, product.displayName || product.id))]);
        };

        $("redeem").addEventListener("submit", async (event) => {
          event.preventDefault();
          const account = state.account, code = $("code").value.trim(), productID = $("code-product").value;
          const isDone = await perform({ call: ["POST", accountPath(account, "redeem"), productID ? { code, productID } : { code }],
            command: command("redeem", [account, code], productID ? ["--product", productID] : []), done: sold });
          if (isDone === true) event.target.reset();
        });

        """#
}
