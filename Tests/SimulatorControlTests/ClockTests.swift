import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel
import Testing

struct ClockTests {
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(
        arguments: [
            ("90s", 90.0, nil), ("40d", 40 * 86400.0, nil), ("P1W", 7 * 86400.0, nil),
            ("P1M", nil, SubscriptionPeriod.months(1)), ("1y", nil, SubscriptionPeriod.years(1)),
        ] as [(String, Double?, SubscriptionPeriod?)])
    func `a jump is read from a short or ISO duration, and only months and years follow the calendar`(
        text: String, seconds: Double?, period: SubscriptionPeriod?
    ) {
        #expect(StoreControlWire.Advance(text) == StoreControlWire.Advance(period: period, seconds: seconds))
    }

    @Test func `a jump is read from an instant in RFC 3339, and any other text is refused`() {
        #expect(StoreControlWire.Advance("2026-01-01T00:00:00Z") == StoreControlWire.Advance(to: Self.start))
        for text in ["", "soon", "-3d", "P1M2D", "99999999999999999999d"] {
            #expect(StoreControlWire.Advance(text) == nil, "\(text)")
        }
    }

    @Test func `a clock runs at its rate from its anchor, in whole milliseconds and never backwards`() {
        let anchor = ClockAnchor(base: Self.start, reading: Self.start + 100, rate: 60, revision: 1)
        #expect(anchor.reading(at: Self.start - 5) == Self.start + 100)
        #expect(anchor.reading(at: Self.start + 1) == Self.start + 160)
        #expect(anchor.reading(at: Self.start + 0.000_01) == Self.start + 100)
        #expect(anchor.base(at: Self.start + 160) == Self.start + 1)
        #expect(anchor.base(at: ClockAnchor.endOfTime + 1) == nil)
        let frozen = ClockAnchor(base: Self.start, reading: Self.start, rate: 0, revision: 1)
        #expect(frozen.reading(at: Self.start + 86400) == Self.start && frozen.base(at: Self.start + 1) == nil)
    }

    @Test(arguments: [
        (500, "{}"), (200, "{}"), (200, "no JSON"), (200, #"{"now": 1, "rate": 1, "revision": 1e400}"#),
    ])
    func `an answer that is not a clock's state is refused with the URL`(status: Int, body: String) async throws {
        let handler = AnyHTTPHandler { _ in
            .ready(HTTPResponse(status: status, body: .bytes(Array(body.utf8))))
        }
        let clock = SimulatorClock(
            url: "http://store.test/", transport: InProcessTransport(handler), base: ManualClock(Self.start))
        let failure = await #expect(throws: StoreFailure.self) { try await clock.start() }
        #expect(failure?.code == .unreachable)
        #expect(failure?.reason.contains("http://store.test/control/v1/clock") == true)
        #expect(clock.now() == Self.start && clock.revision == -1)
    }
}
