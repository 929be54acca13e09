extension ConsoleFrame {
    /// Reads the page again when its data has changed. If the reader uses the page, a notice offers the new page instead.
    /// A hidden page has no stream of updates, because a browser opens only a few connections to one server.
    static let script: StaticString = """
        (() => {
            const main = () => document.getElementById("main");
            let stream = null, timer = null;

            const isInUse = () => {
                const fields = [...main().querySelectorAll("input:not([type=hidden]), select, textarea")];
                const first = (field) => Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
                const isChanged = (field) => field.options ? field.selectedIndex !== first(field)
                    : field.value !== field.defaultValue || field.checked !== field.defaultChecked;
                return main().contains(document.activeElement) || fields.some(isChanged);
            };

            const offer = () => {
                if (document.getElementById("outdated")) return;
                const notice = document.createElement("p"), link = document.createElement("a");
                notice.id = "outdated";
                notice.className = "notice";
                notice.setAttribute("role", "status");
                link.href = location.href;
                link.textContent = "Load the page again";
                notice.append("The data has changed. ", link);
                main().before(notice);
            };

            const show = (next) => {
                const open = [...main().querySelectorAll("details")].map((one) => one.open);
                const closed = [...next.querySelectorAll("details")];
                if (open.length === closed.length) closed.forEach((one, index) => { one.open = open[index]; });
                main().replaceWith(document.adoptNode(next));
                const notice = document.getElementById("outdated");
                if (notice) notice.remove();
                document.getElementById("updated").textContent = `The page was updated at ${new Date().toLocaleTimeString()}.`;
            };

            const readIn = (milliseconds) => { timer ??= setTimeout(read, milliseconds); };

            const read = () => {
                timer = null;
                // A page that becomes visible again connects, and reads itself if its stamp is old.
                if (document.visibilityState !== "visible") return;
                const request = new XMLHttpRequest();
                request.open("GET", location.href);
                request.responseType = "document";
                // A proxy may send another type. A browser shows a malformed document as a page with forbidden styles.
                request.overrideMimeType("text/html");
                request.setRequestHeader("Souk-Update", "1");
                request.onload = () => {
                    const next = request.response && request.response.getElementById("main");
                    const isOther = new URL(request.responseURL).pathname !== location.pathname;
                    if (isOther || request.status === 404) { location.reload(); return; }
                    if (request.status !== 200 || !next) { readIn(10_000); return; }
                    if (next.innerHTML === main().innerHTML) main().dataset.stamp = next.dataset.stamp;
                    else if (isInUse()) offer();
                    else show(next);
                    connect();
                };
                request.onerror = () => readIn(10_000);
                request.send();
            };

            const connect = () => {
                if (stream || document.visibilityState !== "visible") return;
                stream = new EventSource(main().dataset.updates);
                stream.onmessage = (event) => {
                    if (event.data !== main().dataset.stamp) readIn(500);
                };
                // The cookie of the stream is too old or its key was revoked. Another page of the session may have a
                // newer cookie.
                stream.addEventListener("ended", () => { disconnect(); readIn(0); });
                // The browser does not connect again after a refusal.
                stream.onerror = () => {
                    if (stream.readyState !== EventSource.CLOSED) return;
                    disconnect();
                    readIn(0);
                };
            };

            const disconnect = () => {
                if (stream) stream.close();
                stream = null;
            };

            document.addEventListener("visibilitychange", () => {
                if (document.visibilityState === "visible") connect();
                else disconnect();
            });
            connect();
        })();
        """
}
