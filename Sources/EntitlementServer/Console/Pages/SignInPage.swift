import HTTPCore
import WebPages

/// The form that exchanges a secret key for a session.
struct SignInPage: Sendable {
    /// The page to open afterwards.
    let next: String?
    /// The reason why the last attempt failed.
    let refusal: ConsoleRefusal?

    /// Returns the path of the form. `target` is the page that required a session.
    static func path(returningTo target: String?) -> String {
        let form = ConsoleRoute.root + "/sign-in"
        guard let target, target != ConsoleRoute.root, isOwn(target) else { return form }
        return form + "?" + HTTPQuery([("next", target)]).encoded
    }

    /// Returns the page to open after a sign-in: `next` if it is a page of the console, else the first page.
    static func destination(_ next: String?) -> String {
        guard let next, isOwn(next) else { return ConsoleRoute.root }
        return next
    }

    /// Returns whether `target` is the path of a console page and can be sent in a header: at most 2,048 visible characters.
    private static func isOwn(_ target: String) -> Bool {
        guard target.utf8.count <= 2048, target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return false }
        let rest = target.utf8.dropFirst(ConsoleRoute.root.utf8.count)
        return target.utf8.starts(with: ConsoleRoute.root.utf8)
            && (rest.isEmpty || rest.first == UInt8(ascii: "/") || rest.first == UInt8(ascii: "?"))
    }

    var page: Page {
        ConsoleFrame.openPage(
            "Sign in",
            """
            <section class="card pane">
            <h1>Souk console</h1>
            <p class="soft">Sign in with a secret API key of the app. The key is not kept. The session ends after 30 \
            minutes without a request, after 8 hours, or when the key is revoked.</p>
            \(refusal.map { refusal -> HTML in "<p class=\"fault\" role=\"alert\">\(refusal.detail)</p>" })
            <form class="stack" method="post" action="/console/sign-in">
            \(next.map { next -> HTML in "<input type=\"hidden\" name=\"next\" value=\"\(next)\">" })
            <label for="key">Secret key</label>
            <input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required autofocus>
            <fieldset><legend>Rights of the session</legend>
            <label><input type="radio" name="role" value="readOnly" checked>Read only</label>
            <label><input type="radio" name="role" value="full">Full access, with actions</label>
            </fieldset>
            <button class="main">Sign in</button>
            </form>
            </section>
            """)
    }
}

/// The page of a refused request.
struct RefusalPage: Sendable {
    let refusal: ConsoleRefusal

    var page: Page {
        ConsoleFrame.openPage(
            refusal.title,
            """
            <section class="card pane">
            <h1>\(refusal.title)</h1>
            <p class="fault" role="alert">\(refusal.detail)</p>
            <p><a href="/console">Open the first page of the console</a></p>
            </section>
            """)
    }
}
