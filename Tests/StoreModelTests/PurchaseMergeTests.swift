import Foundation
import StoreModel
import Testing

@Suite struct PurchaseMergeTests {
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)

    private static func subscription(
        _ name: String = "pro", id: String? = "1000", from offset: TimeInterval = 0,
        source: PaidFeature.TransactionType = .appStore, by authority: PaidFeature.Authority = .device
    ) -> PaidFeature {
        let begin = start.addingTimeInterval(offset)
        return PaidFeature(
            name: name, originalTransactionID: id,
            paymentType: .subscription(
                .init(current: .init(startDate: begin, endDate: begin.addingTimeInterval(1000)))),
            transactionType: source, authority: authority)
    }

    /// Two reports, and those that a merge keeps: 0 is the left report, and 1 the right one.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let left: PaidFeature
        let right: PaidFeature
        let kept: [Int]

        init(_ name: String, _ left: PaidFeature, _ right: PaidFeature, _ kept: [Int]) {
            (testDescription, self.left, self.right, self.kept) = (name, left, right, kept)
        }
    }

    static let cases: [Case] = [
        Case("the same report twice", subscription(), subscription(), [0]),
        Case("server after device", subscription(), subscription(from: -9, by: .server), [1]),
        Case("device after server", subscription(by: .server), subscription(from: 9), [0]),
        Case("last known after device", subscription(), subscription(from: 9, by: .lastKnown), [0]),
        Case("device after last known", subscription(by: .lastKnown), subscription(from: -9), [1]),
        Case("a renewal after its predecessor", subscription(), subscription(from: 9), [1]),
        Case("a predecessor after its renewal", subscription(), subscription(from: -9), [0]),
        Case("another feature of the same purchase", subscription(), subscription("export"), [0, 1]),
        Case("the same id at another source", subscription(), subscription(source: .web), [0, 1]),
        Case("another purchase", subscription(), subscription(id: "1001"), [0, 1]),
        Case("a purchase without an id twice", subscription(id: nil), subscription(id: nil), [0]),
        Case("two purchases without an id", subscription(id: nil), subscription(id: nil, from: 9), [0, 1]),
        Case("a purchase with an id and one without", subscription(), subscription(id: nil), [0, 1]),
        Case(
            "a server's end after a device's lifetime",
            PaidFeature(name: "pro", originalTransactionID: "7"),
            PaidFeature(
                name: "pro", originalTransactionID: "7", paymentType: .until(start), authority: .server), [1]),
    ]

    @Test(arguments: cases) func `two reports are merged`(_ example: Case) {
        let merged = PaidFeatures(features: [example.left]).merged(with: PaidFeatures(features: [example.right]))
        let expected = example.kept.map { $0 == 0 ? example.left : example.right }
        #expect(merged.features == expected)
        #expect(merged.features.map(\.authority) == expected.map(\.authority))
    }

    @Test func `of two equal reports the better authority stays for later merges`() {
        let device = Self.subscription()
        let server = Self.subscription(by: .server)
        let renewal = Self.subscription(from: 9)
        let merged = [device, server, renewal].map { PaidFeatures(features: [$0]) }
            .reduce(PaidFeatures()) { $0.merged(with: $1) }
        #expect(merged.features == [server])
    }

    @Test func `the grouping of merges does not change the result`() {
        let all = Self.cases.flatMap { [$0.left, $0.right] }.map { PaidFeatures(features: [$0]) }
        let fromLeft = all.reduce(PaidFeatures()) { $0.merged(with: $1) }
        let fromRight = all.reversed().reduce(PaidFeatures()) { $1.merged(with: $0) }
        #expect(fromLeft.features == fromRight.features)
        #expect(fromLeft == PaidFeatures(features: all.flatMap(\.features)))
    }

    @Test func `equality does not depend on order or authority`() {
        let (one, two) = (Self.subscription(), Self.subscription("export"))
        #expect(PaidFeatures(features: [one, two]) == PaidFeatures(features: [two, one]))
        #expect(PaidFeatures(features: [one]) != PaidFeatures(features: [one, two]))
        #expect(PaidFeatures(features: [one]).asLastKnown == PaidFeatures(features: [one]))
        #expect(PaidFeatures(features: [one]).asLastKnown.features.map(\.authority) == [.lastKnown])
    }

    @Test func `features are united and counted once`() {
        let pro = Feature(name: "pro", startDate: Self.start)
        let export = Feature(name: "export", startDate: Self.start, endDate: Self.start.addingTimeInterval(1))
        let merged = Features(features: [pro]).merged(with: Features(features: [export, pro]))
        #expect(merged.features == [pro, export])
        #expect(merged == Features(features: [export, pro]))
        #expect(merged["pro"] == [pro])
        #expect(merged["none"].isEmpty)
    }
}
