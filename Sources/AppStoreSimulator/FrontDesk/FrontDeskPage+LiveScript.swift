extension FrontDeskPage {
    /// The script of the clock: its display, its jumps, and its speed.
    static let clockScript: StaticString = #"""
        // The store's time is computed from the last answer, without further requests.
        const virtualNow = () => state.clock ? Date.parse(state.clock.now) + (performance.now() - state.clock.readAt) * state.clock.rate : Date.now();
        const takeClock = (clock) => { state.clock = { ...clock, readAt: performance.now() }; drawClock(); };
        const secondFormat = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
        const rates = Array.from($("rate").options, (option) => ({ name: option.value, factor: Number(option.dataset.factor) }));
        let lastRate = "real";

        // The next dates of the account's subscriptions and of the listed notifications, earliest first: [date, text].
        const nextDates = () => {
          const dates = [...state.subscriptions.map(nextOf), ...state.playPurchases.flatMap(playDates), ...[...state.notifications, ...state.playNotifications].filter((notification) => notification.due).map((notification) => [notification.due, "a notification is sent again"])];
          const now = virtualNow();
          return dates.filter(([date]) => date && Date.parse(date) > now).sort((left, right) => Date.parse(left[0]) - Date.parse(right[0]));
        };
        const datesShown = 8;

        const drawClock = () => {
          if (!state.clock) return;
          const now = virtualNow(), { rate } = state.clock, time = $("now"), dates = nextDates(), [next] = dates;
          time.textContent = secondFormat.format(new Date(now)) + " UTC";
          time.dateTime = new Date(now).toISOString();
          $("speed").textContent = rate === 0 ? "paused" : rate === 1 ? "real time" : Math.round(rate).toLocaleString("en") + " times real time";
          $("pause").disabled = false;
          $("pause").textContent = rate === 0 ? "Run" : "Pause";
          $("pause").title = command("clock rate", [rate === 0 ? lastRate : "frozen"]);
          $("to-next").hidden = !next;
          $("next").textContent = next ? "Next: " + next[1] + " on " + instant(next[0]) + ", " + remainingText(Date.parse(next[0]) - now) + "." : "";
          if (next) $("to-next").title = command("advance", [next[0]]);
          $("later").hidden = dates.length < 2;
          draw($("later").querySelector("ol"), dates.slice(1, datesShown), () => dates.slice(1, datesShown).map(([date, text]) => make("li", {}, timeElement(date), ": ", text)));
          const known = rates.find((named) => named.factor === rate);
          if (!known) return;
          if (rate !== 0 && !rates.some((named) => named.name === lastRate && named.factor === rate)) lastRate = known.name;
          if (document.activeElement !== $("rate")) $("rate").value = known.name;
        };
        setInterval(drawClock, 1000);

        const jumpBy = (body, label) => ({ label, plan: () => ({ call: ["POST", path("clock", "advance"), body], command: command("advance", [body.period || body.to]),
          done: (clock) => { takeClock(clock); return "The time is " + instant(clock.now) + " UTC."; } }) });
        const jump = (body, label) => act(jumpBy(body, label));
        const setRate = (timeRate) => act({ label: "Speed", plan: () => ({ call: ["PUT", path("clock", "rate"), { timeRate }], command: command("clock rate", [timeRate]),
          done: (clock) => { takeClock(clock); return timeRate === "frozen" ? "The time is paused." : "The speed of time is " + timeRate + "."; } }) });
        document.querySelectorAll("[data-advance]").forEach((element) => {
          element.title = command("advance", [element.dataset.advance]);
          element.addEventListener("click", () => jump({ period: element.dataset.advance }, element.textContent));
        });
        $("to-next").addEventListener("click", () => { const [next] = nextDates(); if (next) jump({ to: next[0] }, "To the next date"); });
        $("pause").addEventListener("click", () => setRate(state.clock.rate === 0 ? lastRate : "frozen"));
        $("rate").addEventListener("change", () => setRate($("rate").value));

        """#

    /// Live updates, the views and the navigation between them.
    ///
    /// A long poll of the clock waits for jumps. While the page is visible, it reads other changes every few seconds,
    /// and less often while nothing changes. It spends at most about a twentieth of the time on reading.
    static let liveScript: StaticString = #"""
        const live = {
          running: null, poll: null, isStale: false, timer: 0, unchangedReads: 0, last: "",

          // Reads everything that the page shows and draws what changed. Calls during a read lead to one more read.
          refresh() {
            if (this.running) { this.isStale = true; return this.running; }
            this.running = (async () => {
              do { this.isStale = false; await this.read(); } while (this.isStale);
            })().finally(() => { this.running = null; });
            return this.running;
          },

          async read() {
            const begin = performance.now();
            clearTimeout(this.timer);
            try {
              const [{ accounts }, { families }, { settings }] = await Promise.all([request("GET", path("accounts")), request("GET", path("families")), request("GET", path("settings"))]);
              Object.assign(state, { accounts, families, settings: Object.fromEntries(settings.map(({ name, value }) => [name, value])) });
              if (state.account === null && accounts.length > 0) state.account = accounts[0].name;
              await Promise.all([this.readAccount(), readNotifications(), readPlayNotifications(), readRetention()]);
              state.isLoaded = true;
              $("connection").textContent = "";
            } catch (problem) {
              if (!(problem instanceof Problem)) throw problem;
              // Another client can remove an account while the page reads it. The next read has the new state.
              $("connection").textContent = problem.code === "noAnswer" ? "Not connected" : problem.message;
            }
            this.draw();
            const now = fingerprint([state.accounts, state.transactions, state.subscriptions, state.seats, state.orders, state.products, state.withdrawn, state.offerCodes, state.batches, state.winBacks, state.promoted, state.devices, state.playPurchases, state.playOrders, state.playNotifications, state.notifications, state.uploads, state.screens, state.settings]);
            this.unchangedReads = now === this.last ? this.unchangedReads + 1 : 0;
            this.last = now;
            this.schedule(performance.now() - begin);
          },

          async readAccount() {
            const account = chosen();
            if (!account) { Object.assign(state, { devices: [], transactions: [], subscriptions: [], seats: [], orders: [], promoted: [], offerCodes: [], batches: [], winBacks: [], products: [], withdrawn: [], playPurchases: [], playOrders: [] }); return; }
            const { name } = account, listFor = (list) => request("GET", path(list) + "?" + new URLSearchParams({ account: name }));
            const listOfStorefront = (list) => request("GET", path(list) + "?" + new URLSearchParams({ storefront: account.storefront }));
            const [{ devices }, { transactions }, { subscriptions }, { orders }, { promotedPurchases: promoted }, { offerCodes }, { products }, { products: withdrawn }, { offerCodeBatches: batches }, { winBackOffers: winBacks }, { seats }, play] = await Promise.all([
              request("GET", accountPath(name, "devices")), request("GET", accountPath(name, "transactions")), request("GET", accountPath(name, "subscriptions")), listFor("orders"), listFor("promoted-purchases"), listFor("offer-codes"), listOfStorefront("products"), listOfStorefront("withdrawn-products"), listFor("offer-code-batches"), listFor("win-back-offers"), request("GET", accountPath(name, "seats")), readPlay(name)]);
            if (state.account !== name) { this.isStale = true; return; }
            Object.assign(state, { batches, winBacks, seats, ...play });
            Object.assign(state, { devices, subscriptions, orders, promoted, offerCodes, products, withdrawn, transactions: transactions.map((sale) => ({ ...sale, claims: claims(sale.signedTransaction) })) });
          },

          draw() {
            if (!state.isLoaded) return;
            drawAccounts();
            drawClock();
            drawSettings();
            drawFaults();
            drawFamilies();
            drawNotifications();
            drawPlay();
            drawRetention();
            if (chosen()) { drawAccount(); drawOrders(); drawPromoted(); drawProducts(); drawOfferCodes(); drawCodeBatches(); drawSubscriptions(); drawTransactions(); }
          },

          schedule(spent) {
            if (document.hidden) return;
            let wait = Math.max(this.unchangedReads > 5 ? 10000 : 3000, 20 * spent);
            const [next] = nextDates();
            if (next && state.clock && state.clock.rate > 0) {
              const due = (Date.parse(next[0]) - virtualNow()) / state.clock.rate + 200;
              wait = Math.min(wait, Math.max(1000, 20 * spent, due));
            }
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.refresh(), wait);
          },

          // A browser opens few connections to a server, so a hidden page must not hold one.
          async follow() {
            for (let pause = 1000; ;) {
              if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
              const begin = performance.now();
              this.poll = new AbortController();
              try {
                const query = state.clock ? "?" + new URLSearchParams({ after: state.clock.revision, wait: 30 }) : "";
                const clock = await request("GET", path("clock") + query, undefined, this.poll.signal), isChanged = !state.clock || clock.revision !== state.clock.revision;
                takeClock(clock);
                // The state may have been replaced, and with it the notifications and screens.
                if (isChanged) { forgetNumbered(); await this.refresh(); }
                // A store that is shutting down answers the long poll at once, so the loop pauses after a fast answer.
                if (isChanged || performance.now() - begin > 1000) { pause = 1000; continue; }
              } catch (problem) {
                if (!(problem instanceof Problem)) throw problem;
                if (this.poll.signal.aborted) continue;
                $("connection").textContent = explain(problem);
              }
              await new Promise((done) => setTimeout(done, pause));
              pause = Math.min(2 * pause, 30000);
            }
          },
        };

        const chooseAccount = (name) => {
          Object.assign(state, { account: name, devices: [], transactions: [], subscriptions: [], seats: [], orders: [], promoted: [], offerCodes: [], batches: [], winBacks: [], playPurchases: [], playOrders: [] });
          Object.assign(shown, { transactions: pageSize, playOrders: pageSize });
          return live.refresh();
        };
        const route = () => {
          const hash = location.hash.slice(1), found = /^\/account\/(.+)$/.exec(hash);
          if (hash === "main") return;
          state.view = ["families", "play", "notifications", "retention", "scenarios", "settings"].find((view) => hash === "/" + view) || "accounts";
          document.querySelectorAll("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== state.view; });
          document.querySelectorAll("[data-view]").forEach((link) => {
            if (link.dataset.view === state.view) link.setAttribute("aria-current", "page");
            else link.removeAttribute("aria-current");
          });
          let name = null;
          try { name = found && decodeURIComponent(found[1]); } catch { name = null; }
          if (name === null || name === state.account) { live.draw(); if (["retention", "play"].includes(state.view)) live.refresh(); return; }
          chooseAccount(name).then(() => { if (chosen() && document.activeElement === document.body) $("account-title").focus({ preventScroll: true }); });
        };

        addEventListener("hashchange", route);
        addEventListener("resize", () => { if (chosen()) drawSubscriptions(); drawPlay(); });
        document.addEventListener("visibilitychange", () => {
          live.unchangedReads = 0;
          if (!document.hidden) live.refresh();
          else if (live.poll) live.poll.abort();
        });
        document.addEventListener("pointerdown", () => { live.unchangedReads = 0; });
        route();
        live.follow();
        """#
}
