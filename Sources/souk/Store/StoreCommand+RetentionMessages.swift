import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    static let locale = Command.Option(
        name: "locale", value: "L", help: "the locale of the device, such as en-US (the catalogue's)")

    static func cancellation(_ arguments: Arguments) throws -> StoreControlWire.Cancel {
        StoreControlWire.Cancel(
            productID: try Arguments.identifier(arguments.operands[1], called: "PRODUCT"),
            locale: arguments.text("locale"))
    }

    static let retentionMessages = [
        action(
            "retention-messages list", "List what customers saw before they cancelled a subscription",
            options: [
                .init(name: "account", value: "A", help: "only what this account saw"),
                .init(name: "after", value: "N", help: "only entries with a higher number"),
                .init(name: "limit", value: "N", help: "the largest number of entries, 1 to 1000 (100)"),
            ]
        ) { client, arguments in
            let query: [(String, String?)] = [
                ("account", arguments.text("account")),
                ("after", try arguments.integer("after", in: 0...(1 << 53)).map(String.init)),
                ("limit", try arguments.integer("limit", in: 1...1000).map(String.init)),
            ]
            return try await client.ask(
                .get, StorePath("/retention-messages", query: query), as: StoreControlWire.RetentionMessages.self,
                StoreText.table)
        },
        action(
            "retention-messages uploads", "List the uploaded messages and images with their states"
        ) { client, _ in
            try await client.ask(
                .get, "/retention-messages/uploads", as: StoreControlWire.RetentionUploads.self, StoreText.table)
        },
        action(
            "retention-messages show ACCOUNT PRODUCT", "Show the message before a cancellation, and do not cancel",
            options: [locale]
        ) { client, arguments in
            try await client.ask(
                .post, "/accounts/\(arguments.operands[0])/retention-message", try cancellation(arguments),
                as: StoreControlWire.RetentionMessage.self, StoreText.line)
        },
        action(
            "retention-messages review STATE", "Set an uploaded message or image to APPROVED, REJECTED or PENDING",
            choices: ["APPROVED", "REJECTED", "PENDING"],
            options: [
                .init(name: "message", value: "UUID", help: "the message"),
                .init(name: "image", value: "UUID", help: "the image"),
            ]
        ) { client, arguments in
            guard let state = StoreControlWire.RetentionReview.State(rawValue: arguments.operands[0]) else {
                throw UsageError("STATE is APPROVED, REJECTED or PENDING, not \(arguments.operands[0].quoted)")
            }
            let (message, image) = (try arguments.uuid("message"), try arguments.uuid("image"))
            guard (message == nil) != (image == nil) else {
                throw UsageError("name one message with --message, or one image with --image")
            }
            let review = StoreControlWire.RetentionReview(
                messageIdentifier: message, imageIdentifier: image, state: state)
            return try await client.ask(
                .post, "/retention-messages/review", review, text: "the review has the result \(state.rawValue)")
        },
    ]
}

extension StoreText {
    static func table(_ all: StoreControlWire.RetentionMessages) -> TerminalText {
        table(
            ["number", "account", "product", "locale", "at (UTC)", "request", "source", "message"],
            all.retentionMessages.map {
                [
                    "\($0.number)", $0.account, $0.productID.rawValue, $0.locale, date($0.at), $0.result ?? "–",
                    $0.source.rawValue, $0.header ?? $0.refusal ?? "–",
                ]
            })
    }

    static func table(_ all: StoreControlWire.RetentionUploads) -> TerminalText {
        let messages = all.messages.map {
            [
                "message", $0.messageIdentifier.uuidString.lowercased(), $0.state, date($0.at),
                $0.message["header"]?.stringValue ?? "–",
                $0.defaultFor.map { "\($0.productID) \($0.locale)" }.joined(separator: ", "),
            ]
        }
        let images = all.images.map {
            [
                "image", $0.imageIdentifier.uuidString.lowercased(), $0.state, date($0.at),
                "\($0.size), \($0.width) × \($0.height)", "",
            ]
        }
        return table(["upload", "identifier", "state", "at (UTC)", "content", "default for"], messages + images)
    }

    static func line(_ screen: StoreControlWire.RetentionMessage) -> TerminalText {
        let refusal = screen.refusal.map { " (\($0))" } ?? ""
        guard screen.source != .nothing else { return "the customer saw no message\(refusal)" }
        let offer = [screen.offeredProductID?.rawValue, screen.offerID].compactMap(\.self).joined(separator: " ")
        let offered = offer.isEmpty ? "" : ", offering \(offer)"
        return
            "the customer saw \(screen.header ?? "") – \(screen.body ?? "")\(offered) [\(screen.source.rawValue)]\(refusal)"
    }
}
