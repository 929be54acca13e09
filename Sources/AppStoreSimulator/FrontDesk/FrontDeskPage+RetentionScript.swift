extension FrontDeskPage {
    /// The script of the retention messages: their look, the screens that customers saw, and the review of uploads.
    static let retentionScript: StaticString = #"""
        const sources = { realtime: ["realtime answer", "good"], default: ["default message", "plain"], nothing: ["no message", "warn"] };
        const uploadTones = { APPROVED: "good", PENDING: "warn", REJECTED: "bad" };
        // An upload keeps its identifiers as the app's server wrote them, so their case can differ.
        const isSame = (left, right) => String(left).toLowerCase() === String(right).toLowerCase();

        // The simulator keeps no pixels, so a picture is its description and its identifier.
        const picture = (identifier, altText) => {
          const image = state.uploads.images.find((found) => isSame(found.imageIdentifier, identifier));
          return make("span", { class: "picture" }, make("span", {}, "Image: " + altText), make("code", { class: "soft" }, String(identifier).toLowerCase()),
            image && image.state !== "APPROVED" && pill(image.state, uploadTones[image.state]));
        };
        // Shows a message as the customer sees it: { header, body, headerPosition, image: [identifier, altText], points: [{ text }], offer }.
        const messageView = ({ header, body, headerPosition, image, points, offer }) => {
          const head = make("strong", {}, header), shownImage = image && picture(...image);
          return make("div", { class: "message" }, headerPosition === "ABOVE_IMAGE" ? [head, shownImage] : [shownImage, head], make("p", {}, body),
            points.length > 0 && make("ul", { class: "points" }, points.map((point) => make("li", {}, point.text, point.imageIdentifier && picture(point.imageIdentifier, point.altText)))),
            offer && make("p", { class: "offered" }, offer));
        };

        const offerOf = ({ kind, offeredProductID, offerID }) => {
          if (kind === "alternateProduct") return ["Suggests ", nameOf(offeredProductID), " ", make("code", {}, offeredProductID)];
          if (kind !== "promotionalOffer") return null;
          const product = state.products.find((found) => found.id === offeredProductID), found = product && offersOf(product).find(([kind, offer]) => kind === "promotional" && offer.id === offerID);
          return ["Offers ", nameOf(offeredProductID), found && ": " + offerText(found[1]), " ", make("code", {}, offerID)];
        };
        const screenMessage = (screen) => screen.source === "nothing" ? make("p", { class: "soft" }, "The customer sees no message.")
          : messageView({ ...screen, image: screen.imageIdentifier && [screen.imageIdentifier, screen.altText], points: (screen.bulletPoints || []).map((text) => ({ text })), offer: offerOf(screen) });
        const screenFacts = (screen) => make("dl", { class: "facts" }, [["Locale", screen.locale], ["Request to the app's server", screen.result || (screen.requestIdentifier ? "under way" : "not sent")],
          ["Message", screen.messageIdentifier && make("code", {}, screen.messageIdentifier.toLowerCase())], ["Request", screen.requestIdentifier && make("code", {}, screen.requestIdentifier.toLowerCase())],
        ].filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
        const screenView = (screen) => [screenMessage(screen), screen.refusal && make("p", { class: "warn" }, "The answer is not used: " + screen.refusal), screenFacts(screen)];
        const screenText = (screen) => screen.source === "nothing" ? "The customer saw no message." + (screen.refusal ? " " + screen.refusal : "")
          : "The customer saw “" + screen.header + "” (" + sources[screen.source][0] + ").";

        // The last screen of each subscription that an action of this page opened. It is shown until it is closed.
        const screens = new Map();
        const screenKey = (account, { originalTransactionID }) => account + " " + originalTransactionID;
        const keepScreen = (account, subscription, screen) => { if (screen) screens.set(screenKey(account, subscription), screen); };
        const openScreen = (account, subscription) => {
          const { productID } = subscription;
          return {
            label: "Retention message", key: "message " + screenKey(account, subscription), title: "Open the screen on which " + account + " can cancel " + productID, submitLabel: "Open the screen",
            warning: "It shows the retention message that the customer sees before cancelling. The subscription stays as it is.",
            fields: [{ name: "locale", label: "Locale of the device (optional)", placeholder: "en-US", maxlength: 35, pattern: "[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?",
              hint: "A language and a region, such as en-US. Without it the locale is that of the catalogue." }],
            plan: ({ locale = "" }) => ({ call: ["POST", accountPath(account, "retention-message"), locale ? { productID, locale } : { productID }],
              command: command("retention-messages show", [account, productID], locale ? ["--locale", locale] : []), done: screenText, after: (screen) => keepScreen(account, subscription, screen) }),
          };
        };
        const screenBox = (account, subscription) => {
          const key = screenKey(account, subscription), screen = screens.get(key);
          if (!screen) return null;
          const name = "Screen before cancelling " + subscription.productID;
          return make("section", { class: "screen", "aria-label": name }, make("div", { class: "line" }, make("strong", {}, "Before cancelling"), pill(...sources[screen.source]),
            make("button", { type: "button", "data-key": "close " + key, "aria-label": "Close " + name, click: () => {
              screens.delete(key);
              drawSubscriptions();
              const opener = withKey("message " + key);
              if (opener) opener.focus({ preventScroll: true });
            } }, "Close")), screenView(screen));
        };

        // Uploads and screens are read only while their view is visible.
        const screenReader = { limit: readLimit, isComplete: true };
        const readRetention = async () => {
          if (state.view !== "retention") return;
          const { generation } = reader;
          const [uploads, [screens, isComplete]] = await Promise.all([request("GET", path("retention-messages", "uploads")),
            readNumbered("retention-messages", "retentionMessages", state.screens, (screen) => screen.requestIdentifier && !screen.result, screenReader.limit)]);
          if (generation !== reader.generation) return;
          Object.assign(state, { uploads, screens });
          screenReader.isComplete = isComplete;
        };

        const review = (kind, identifier, reviewed) => ({
          label: reviewed === "APPROVED" ? "Approve" : "Reject", tone: reviewed === "APPROVED" ? "main" : undefined,
          plan: () => ({ call: ["POST", path("retention-messages", "review"), { [kind + "Identifier"]: identifier, state: reviewed }],
            command: command("retention-messages review", [reviewed], ["--" + kind, identifier]), done: "The " + kind + " " + identifier + " is " + reviewed + "." }),
        });
        const reviews = (kind, identifier, present) => make("span", { class: "buttons" },
          ["APPROVED", "REJECTED"].filter((reviewed) => reviewed !== present).map((reviewed) => button(review(kind, identifier, reviewed), kind + " " + identifier)));
        // Uploads that wait for a review come first, then the newest.
        const inOrder = (uploads) => { const newest = uploads.slice().reverse(), waits = ({ state }) => state === "PENDING"; return [...newest.filter(waits), ...newest.filter((upload) => !waits(upload))]; };

        const drawUploads = () => {
          const { messages, images } = state.uploads;
          draw($("uploaded-messages"), [messages, images, shown.messages], () => messages.length === 0 ? make("li", { class: "soft" }, "There are no messages. The app's server uploads them with Apple's Retention Messaging API.")
            : [inOrder(messages).slice(0, shown.messages).map(({ messageIdentifier, state, message, defaultFor }) => {
              const identifier = messageIdentifier.toLowerCase(), { header, body, headerPosition, image, bulletPoints } = message;
              return make("li", {}, make("div", { class: "line between" }, make("span", {}, pill(state, uploadTones[state]), " ", make("code", {}, identifier)), reviews("message", identifier, state)),
                messageView({ header, body, headerPosition, image: image && [image.imageIdentifier, image.altText], points: bulletPoints || [] }),
                defaultFor.length > 0 && make("p", { class: "soft" }, "Default message of " + defaultFor.map(({ productID, locale }) => productID + " in " + locale).join(", ") + "."));
            }), messages.length > shown.messages && make("li", {}, more("messages", messages.length, drawUploads))]);
          draw($("uploaded-images"), [images, shown.images], () => images.length === 0 ? make("li", { class: "soft" }, "There are no images.")
            : [inOrder(images).slice(0, shown.images).map(({ imageIdentifier, state, size, width, height }) => {
              const identifier = imageIdentifier.toLowerCase();
              return make("li", { class: "line" }, make("span", {}, pill(state, uploadTones[state]), " ", make("code", {}, identifier),
                make("span", { class: "soft below" }, (size === "BULLET_POINT" ? "bullet point, " : "full size, ") + width + " × " + height)), reviews("image", identifier, state));
            }), images.length > shown.images && make("li", {}, more("images", images.length, drawUploads))]);
        };

        const drawScreens = () => {
          const found = state.screens.slice().reverse();
          draw($("screens"), [found, state.uploads.images, Array.from(opened), shown.screens, screenReader.isComplete, state.products], () => {
            if (found.length === 0) return make("p", { class: "soft" }, "No customer has opened the screen for cancelling yet.");
            const rows = found.slice(0, shown.screens).flatMap((screen) => {
              const id = "screen " + screen.number;
              const row = make("tr", {}, make("th", { scope: "row" }, screen.header || "–", make("span", { class: "soft below" }, nameOf(screen.productID)),
                make("span", { class: "narrow soft" }, instant(screen.at), ", ", screen.account, ", ", screen.locale)),
                make("td", { class: "wide" }, timeElement(screen.at)), make("td", { class: "wide" }, screen.account), make("td", { class: "wide" }, screen.locale),
                make("td", {}, pill(...sources[screen.source]), make("span", { class: "soft below" }, screen.result || (screen.requestIdentifier ? "under way" : "no request"))),
                make("td", { class: "end" }, fold(id, id, drawScreens)));
              return opened.has(id) ? [row, make("tr", { class: "more" }, make("td", { colspan: 6 }, screenView(screen)))] : [row];
            });
            return [table("Screens before cancelling, newest first", [["Message"], ["Time", "wide"], ["Account", "wide"], ["Locale", "wide"], ["Source"], [make("span", { class: "hidden-label" }, "Details"), "end"]], rows),
              more("screens", found.length, drawScreens), !screenReader.isComplete && readMore("screens", screenReader)];
          });
        };

        const drawRetention = () => {
          if (state.view !== "retention") return;
          const url = state.settings.realtimeURL, waits = state.settings.retentionReview;
          $("retention-note").textContent = (url && url !== "off" ? "The store asks " + url + " which message to show."
            : "The setting realtimeURL has no URL, so only default messages are shown.") + (waits ? " Uploads wait for a review." : " Uploads are approved at once, unless the setting retentionReview is true.");
          drawUploads();
          drawScreens();
        };

        """#
}
