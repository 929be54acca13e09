import Foundation
import Primitives
import StoreModel
import WebPages

/// The page of a fact: how it arrived, its decoded content and its signed bytes.
struct FactPage: Sendable {
    let frame: ConsoleFrame
    let record: FactRecord

    private var fact: FactEntry { record.fact }

    var page: Page {
        frame.page(
            "Fact \(fact.sequence)",
            """
            <section class="card pane" aria-labelledby="title">
            <p>Customer <a href="\(frame.path(of: record.customer))">\(ConsoleFrame.code(record.customer.rawValue))</a></p>
            <h1 id="title">Fact \(fact.sequence): \(fact.kind)</h1>
            <dl class="facts">
            \(ConsoleFrame.row("Content", FactTable.content(of: fact)))\
            \(fact.transactionID.map { ConsoleFrame.row("Transaction", ConsoleFrame.code($0)) })\
            \(ConsoleFrame.row("Original transaction", purchaseLink))\
            \(ConsoleFrame.row("Source", "<bdi>\(fact.source)</bdi>"))\
            \(ConsoleFrame.row("Signed", ConsoleFrame.time(fact.signedAt)))\
            \(ConsoleFrame.row("Received", ConsoleFrame.time(fact.receivedAt)))\
            \(ConsoleFrame.row("SHA-256 of the payload", ConsoleFrame.code(Hex.encode(fact.digest))))
            </dl>
            </section>
            <section class="card pane" aria-labelledby="way">
            <h2 id="way">How it came</h2>
            \(way)
            \(claims)
            \(documents)
            </section>
            <section class="card pane" aria-labelledby="content">
            <h2 id="content">Signed content</h2>
            \(content)
            </section>
            """)
    }

    private var purchaseLink: HTML {
        let target = frame.path(of: record.customer, [("purchase", fact.original.rawValue)]) + "#facts"
        return "<a href=\"\(target)\">\(ConsoleFrame.code(fact.original.rawValue))</a>"
    }

    // MARK: - How it came

    /// The claims and documents that the ledger stored in the same millisecond as the fact.
    private var way: HTML {
        let presented = record.concurrentClaims.map { claim -> HTML in
            "<li>\(ConsoleFrame.code(claim.presenter)) claimed the purchase (\(claim.kind)).</li>\n"
        }
        let documents = record.concurrentDocuments.map { document -> HTML in
            "<li>The \(document.kind) <bdi>\(document.about)</bdi>, \(ConsoleFrame.code(document.identity)) arrived.</li>\n"
        }
        let all = presented + documents
        guard all.isEmpty else {
            return """
                <p class="hint">The ledger stored these in the same millisecond as the fact:</p>
                <ul class="plain" id="arrival">\(all.joined())</ul>
                """
        }
        return """
            <p id="arrival">It came without a new claim and without a notification or receipt: a customer with an earlier \
            claim presented it, or an import, a web shop or an answer of the App Store contained it.</p>
            """
    }

    private var claims: HTML {
        guard !record.claims.isEmpty else { return "<p class=\"hint\">No customer has claimed the purchase.</p>" }
        let rows = record.claims.map { claim -> HTML in
            """
            <tr><td>\(ConsoleFrame.time(claim.at))</td><td>\(ConsoleFrame.code(claim.presenter))</td>\
            <td>\(claim.kind)</td></tr>

            """
        }
        return "<h3>Claims on the purchase</h3>"
            + ConsoleFrame.table("Claims on the purchase", ["Time", "Customer", "Claim"], rows)
    }

    private var documents: HTML {
        guard !record.documents.isEmpty else { return .empty }
        let rows = record.documents.map { document -> HTML in
            """
            <tr><td>\(ConsoleFrame.time(document.receivedAt))</td><td>\(document.kind)</td>\
            <td><bdi>\(document.about)</bdi></td><td>\(ConsoleFrame.code(document.identity))</td></tr>

            """
        }
        return "<h3>Notifications and receipts about the purchase</h3>"
            + ConsoleFrame.table(
                "Notifications and receipts about the purchase", ["Received", "Document", "Type", "Id"], rows)
    }

    // MARK: - Content

    private var content: HTML {
        guard let source = record.source else {
            return "<p id=\"erased\">The signed bytes were erased with a customer. The summary above remains.</p>"
        }
        let text = String(decoding: source, as: UTF8.self)
        let format = FactFormat(rawValue: fact.format)
        guard format == .jws else {
            let words =
                switch format {
                case .receipt: "The purchase as the app receipt lists it. The receipt is signed as a whole."
                case .googlePlay: "The purchase as Google Play answered the server. The answer is not signed."
                default: "The body of the web shop's signed request."
                }
            return """
                <p class="hint">\(words)</p>
                <h3>Decoded</h3>\(ConsoleFrame.box(Self.readable(source), id: "payload"))
                <h3>Bytes</h3>\(ConsoleFrame.box(text, id: "signed"))
                """
        }
        let segments = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return """
            <p class="hint">The server verified the certificates and the signature before it stored these bytes.</p>
            <h3>Payload</h3>\(ConsoleFrame.box(Self.decoded(segments, 1), id: "payload"))
            <h3>Header</h3>\(ConsoleFrame.box(Self.decoded(segments, 0), id: "header"))
            <h3>Signed bytes (JWS)</h3>\(ConsoleFrame.box(text, id: "signed"))
            """
    }

    private static func decoded(_ segments: [String], _ index: Int) -> String {
        guard segments.indices.contains(index), let bytes = Base64.decodeURL(segments[index]) else {
            return "This part is not base64url."
        }
        return readable(bytes)
    }

    /// Returns JSON with each member on its own line, or the text itself if it is not JSON.
    private static func readable(_ bytes: [UInt8]) -> String {
        (try? JSONValue(parsing: bytes))?.text(pretty: true) ?? String(decoding: bytes, as: UTF8.self)
    }
}
