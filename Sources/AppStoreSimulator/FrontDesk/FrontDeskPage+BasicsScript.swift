extension FrontDeskPage {
    /// The functions that the other scripts share. Texts become text nodes and attribute values, never markup.
    static let basicsScript: StaticString = #"""
        "use strict";
        const $ = (id) => document.getElementById(id);

        // The values that the page shows, as the store last returned them.
        const state = {
          accounts: [], families: [], devices: [], products: [], withdrawn: [], offerCodes: [], batches: [], winBacks: [], transactions: [], subscriptions: [], seats: [], orders: [], promoted: [],
          playProducts: [], playPurchases: [], playOrders: [], playNotifications: [],
          notifications: [], uploads: { images: [], messages: [] }, screens: [], settings: {}, account: null, view: "accounts", clock: null, isLoaded: false,
        };

        const svgTags = ["svg", "g", "rect", "text", "line", "path", "defs", "pattern", "circle"];
        const isContent = (child) => child !== null && child !== undefined && typeof child !== "boolean";
        const fill = (box, ...children) => box.replaceChildren(...children.flat(Infinity).filter(isContent));
        const make = (tag, attributes = {}, ...children) => {
          const element = svgTags.includes(tag)
            ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
          for (const [name, value] of Object.entries(attributes)) {
            if (typeof value === "function") element.addEventListener(name, value);
            else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
          }
          fill(element, ...children);
          return element;
        };

        // Leaves signed texts out, because they differ in each answer even if nothing has changed.
        const fingerprint = (value) => JSON.stringify(value, (name, member) => name.startsWith("signed") ? undefined : member);

        // Draws a part again only if its values changed, and keeps the focus on the same control.
        const drawn = new Map();
        const withKey = (key) => Array.from(document.querySelectorAll("[data-key]")).find((element) => element.dataset.key === key);
        const draw = (box, values, content) => {
          const now = fingerprint(values);
          if (drawn.get(box) === now) return;
          drawn.set(box, now);
          const key = box.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
          fill(box, content());
          if (key === undefined) return;
          const same = withKey(key);
          if (same) { same.focus({ preventScroll: true }); return; }
          box.tabIndex = -1;
          box.focus({ preventScroll: true });
        };

        // Requests

        class Problem extends Error {
          constructor(detail, code) { super(detail); this.code = code; }
        }
        const request = async (method, path, body, signal) => {
          const options = { method, signal };
          if (body !== undefined) Object.assign(options, { headers: { "Content-Type": "application/json" }, body: typeof body === "string" ? body : JSON.stringify(body) });
          const answer = await fetch(path, options).catch(() => { throw new Problem("The simulator does not answer.", "noAnswer"); });
          const text = await answer.text();
          let value = null;
          try { value = text ? JSON.parse(text) : null; } catch { value = null; }
          if (!answer.ok) throw new Problem((value && value.detail) || "The simulator answered with status " + answer.status + ".", value ? value.code : "");
          return value;
        };
        const path = (...parts) => "/control/v1/" + parts.map(encodeURIComponent).join("/");

        // The most entries of a numbered list that the page reads. Later ones are read on request.
        const readLimit = 5000;
        // Reads the entries of a list after the known ones, and rereads from the first one that can still change. Returns the
        // entries, and whether these are all.
        const readNumbered = async (list, member, known, isOpen, limit, filter = {}) => {
          const open = known.find(isOpen), last = known[known.length - 1];
          let after = open ? open.number - 1 : last ? last.number : 0;
          const read = known.filter((entry) => entry.number <= after);
          for (;;) {
            const room = Math.min(1000, limit - read.length);
            if (room <= 0) return [read, false];
            const { [member]: entries } = await request("GET", path(...[list].flat()) + "?" + new URLSearchParams({ ...filter, after, limit: room }));
            read.push(...entries);
            if (entries.length < room) return [read, true];
            after = entries[entries.length - 1].number;
          }
        };

        const advice = {
          noAnswer: "Check that souk simulate is still running. This page connects again by itself.",
          closed: "The simulator is stopping. Start souk simulate again.",
          storage: "Check that the simulator's data folder can be written.",
          foreign_host: "Start the simulator with --host-name and the name in this page's address.",
          accountExists: "Choose another name.", familyExists: "Choose another name.",
          unknownStorefront: "Use the three letters of a country of the App Store, such as USA, DEU or JPN.",
          inAnotherFamily: "Remove the account from its family first.", familyFull: "Remove a member first.",
          unknownSubscription: "The account has no running subscription of this product. Buy it first.",
          alreadyRevoked: "Reverse the refund first, or choose another transaction.",
          notRefunded: "Only a refunded transaction can be reversed.",
          notPending: "The purchase was decided elsewhere. The list shows the present state.",
          unknownTransaction: "Use a transaction of this store.",
          unknownPurchase: "The list shows the present purchases.", unknownNotification: "The list shows the present notifications.",
          unknownMessage: "The app's server deleted it. The list shows the present state.",
          nothingToAnswer: "Increase the price of the product first.",
          tooManyTransactions: "Use an account with at most 10,000 transactions.",
          invalidProduct: "Choose a product of the catalogue that is still sold.",
          notAllowed: "Allow payments for the account.", productUnavailable: "The product was withdrawn. Offer it again first.",
          unknownOfferCodes: "Choose a batch of the list.", unknownDevice: "Choose a device of the account, or sign one in.",
          invalidQuantity: "Choose a quantity from 1 to 10. Only consumables and non-renewing subscriptions have one.",
          invalidOffer: "Choose an offer of this product.", invalidCode: "Create a code, or use the identifier of an offer in the catalogue that has none.",
          ineligibleForOffer: "Choose an account that the offer is for, such as one without a subscription of the group.",
        };
        // The injected errors and latencies, which are settings: [name, value].
        const isFault = (name) => /^(errors|latency)\./.test(name);
        const faults = () => Object.entries(state.settings).filter(([name, value]) => isFault(name) && value !== "off" && value !== 0);
        const adviceFor = (problem) => {
          const failing = faults().map(([name]) => name).filter((name) => name.startsWith("errors."));
          return advice[problem.code] || (failing.length > 0 ? "The settings inject errors: " + failing.join(", ") + "." : "");
        };

        // Commands

        const quoted = (word) => /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
        // Returns a command from the words of the action, its operands, and its options with their values.
        const command = (words, operands = [], options = []) => {
          const rest = [...options, "--url", location.origin].map(quoted), values = operands.map((value) => quoted(String(value)));
          const isOption = operands.some((value) => String(value).startsWith("-"));
          return ["souk", "store", ...words.split(" "), ...(isOption ? [...rest, "--", ...values] : [...values, ...rest])].join(" ");
        };

        // Texts

        const plural = (count, noun) => count.toLocaleString("en") + " " + noun + (count === 1 ? "" : "s");
        const utc = { timeZone: "UTC" };
        const dayFormat = new Intl.DateTimeFormat("en-GB", { ...utc, day: "numeric", month: "short", year: "numeric" });
        const timeFormat = new Intl.DateTimeFormat("en-GB", { ...utc, hour: "2-digit", minute: "2-digit" });
        const day = (date) => dayFormat.format(new Date(date));
        const instant = (date) => day(date) + ", " + timeFormat.format(new Date(date));
        const timeElement = (date) => make("time", { datetime: new Date(date).toISOString(), title: new Date(date).toISOString() }, instant(date));
        const money = (amount, currency) => {
          try { return new Intl.NumberFormat("en", { style: "currency", currency }).format(amount); } catch { return amount + " " + currency; }
        };
        // Returns a number of ISO 8601 periods in words: one P1M is 1 month.
        const periodText = (iso, times = 1) => {
          const found = /^PT?(\d+)([DWMYHS])$/.exec(iso || ""), names = { D: "day", W: "week", M: "month", Y: "year", H: "hour", S: "second" };
          return found ? plural(Number(found[1]) * times, names[found[2]]) : iso;
        };
        const remainingText = (milliseconds) => {
          const steps = [["day", 86400000], ["hour", 3600000], ["minute", 60000], ["second", 1000]];
          const [name, size] = steps.find(([, size]) => milliseconds >= size) || steps[3];
          return "in " + plural(Math.max(1, Math.round(milliseconds / size)), name);
        };
        // Lets a line break after each underscore.
        const breakable = (name) => name.split("_").flatMap((part, place) => place > 0 ? ["_", make("wbr"), part] : [part]);
        const pill = (word, tone = "") => make("span", { class: "pill " + tone }, word);
        const nameOf = (id) => { const found = state.products.find((product) => product.id === id); return found ? found.displayName || id : id; };

        const copy = async (text, button) => {
          const before = button.textContent;
          button.textContent = await navigator.clipboard.writeText(text).then(() => "Copied", () => "Cannot copy");
          setTimeout(() => { button.textContent = before; }, 1800);
        };

        """#
}
