/// The preconditions of a document's first block, and the blocks that are not run, with the reasons. A document without
/// an entry is run completely, in a checkout.
struct Guide: Sendable {
    enum Folder: Sendable {
        /// The root of a checkout.
        case checkout
        /// The folder that contains the checkout `souk`.
        case besideCheckout

        var entering: String {
            switch self {
            case .checkout: "checkout\ncd \"$FOLDER/souk\"\n"
            case .besideCheckout: "checkout\ncd \"$FOLDER\"\n"
            }
        }
    }

    let document: String
    var folder = Folder.checkout
    /// Commands for the preconditions in the text before the blocks.
    var preparation = ""
    /// Replacements for folders of the system that a test must not write.
    var replacements: [(String, String)] = []
    /// The reason why a block is not run, by its first line.
    var skippedBlocks: [String: String] = [:]

    static func of(_ document: String) -> Guide { all.first { $0.document == document } ?? Guide(document: document) }

    private static let asksApple = "asks Apple's servers, with a key of App Store Connect"
    private static let installs = "changes the machine as root, which needs systemd as its first process"
    private static let buildsPackage = "takes minutes to build a separate package; Scripts/check-linkage builds it"

    static let all = [
        Guide(
            document: "Documentation/FactsIn.md",
            preparation: """
                openssl rand -hex 32 > shop.secret
                printf '%s' '{"webPurchases": [{"name": "shop", "bundleId": "com.example.souk",
                    "environment": "sandbox", "secretFiles": ["shop.secret"]}]}' > settings.json
                running --config settings.json
                SOUK_PUBLIC_KEY=$(cat given/ledger.sqlite.com.example.souk.public-key) SECRET=$(cat shop.secret)
                souk store --url "$STORE" device receipt "$DEVICE" | base64 -d > receipt
                echo "{\\"customer\\": \\"ada\\", \\"receipt\\": \\"$(base64 -w0 receipt)\\"}" > purchases.jsonl
                cp given/server-api-key.p8 AuthKey_ABC123.p8
                """,
            skippedBlocks: [
                #"souk sync --url "$SERVER" --key-file secret-key --bundle-id com.example.darkroom \"#: asksApple
            ]),
        Guide(
            document: "Documentation/Install.md",
            skippedBlocks: [
                "make dist": "takes minutes to build the program again; Scripts/make-dist checks its results itself",
                "souk serve --check --config /etc/souk/souk.json":
                    "reads the settings that the package installs; ServeCheckTests runs the command",
                "sha256sum --check SHA256SUMS": installs,
                "sudo systemctl enable --now souk.socket souk.service": installs,
                "sudo systemctl edit souk.socket": installs, "sudo apt install ./souk_*.deb": installs,
                "sudo systemctl reload souk.service": installs, "sudo apt purge souk": installs,
                "podman build -t souk .build-dist/artifacts": "needs podman and an image of Debian",
            ]),
        Guide(document: "Documentation/Figures.md", preparation: "running\nln -s given/ledger.sqlite souk.sqlite"),
        Guide(
            document: "Documentation/Interception.md",
            preparation: """
                echo '{"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": []}}' > traffic.har
                echo '{"florets": [{"floret": "noCache"}]}' > florets.json
                """),
        Guide(document: "Documentation/Notifications.md", preparation: backend),
        Guide(document: "Documentation/ProductList.md", preparation: "cp Examples/darkroom.storekit shop.storekit"),
        Guide(
            document: "Documentation/Offers.md",
            preparation: "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_2X9R4HXF34.p8"),
        Guide(
            document: "Documentation/RetentionMessages.md",
            preparation: "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_2X9R4HXF34.p8"),
        Guide(document: "Documentation/VerifyReceipt.md", preparation: "running"),
        Guide(
            document: "Documentation/Guides/ComingFromSwiftyStoreKitOrRevenueCat.md",
            preparation: """
                running
                receipt=$(souk store --url "$STORE" device receipt "$DEVICE")
                echo "{\\"customer\\": \\"ada\\", \\"receipt\\": \\"$receipt\\"}" > purchases.jsonl
                """),
        Guide(document: "Documentation/Guides/FromZeroToTheFirstPurchase.md", folder: .besideCheckout),
        Guide(
            document: "Documentation/Guides/PluginHub.md", skippedBlocks: ["cd Examples/FourPlugins": buildsPackage]),
        Guide(
            document: "Documentation/Guides/RunItInProduction.md",
            preparation: """
                mkdir -p var/lib/souk var/backups
                running
                souk serve --database sqlite:var/lib/souk/ledger.sqlite --bundle-id com.example.darkroom > other.json &
                souk wait other.json
                souk-new() { souk "$@"; }
                """, replacements: [("/var/", "var/")],
            skippedBlocks: [
                #"souk sync --url "https://$HOST" --key-file secret-key --bundle-id com.example.darkroom \"#: asksApple
            ]),
        Guide(
            document: "Documentation/Guides/WritingAFloret.md", skippedBlocks: ["cd Examples/Florets": buildsPackage]),
    ]

    /// A backend that accepts notifications of the App Store. Its address is one text, because `GuideSession` replaces
    /// a port only after `127.0.0.1:`.
    private static let backend = """
        python3 - <<'END' &
        from http.server import BaseHTTPRequestHandler, HTTPServer
        class Backend(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
            def log_message(self, *_):
                pass
        Backend.protocol_version = "HTTP/1.1"
        HTTPServer(("127.0.0.1:9000".split(":")[0], int("127.0.0.1:9000".split(":")[1])), Backend).serve_forever()
        END
        souk wait http://127.0.0.1:9000
        """
}
