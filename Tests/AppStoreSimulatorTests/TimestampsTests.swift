import Foundation
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Each event has a later timestamp than everything that was reported before, also with concurrent reports.
struct TimestampsTests {
    private let clock = Fixtures.start

    @Test func `no event is reported before it is stored`() {
        let timestamps = Timestamps(floor: .distantPast)
        let (first, second) = (timestamps.ticket(), timestamps.ticket())
        let before = timestamps.beginEvent([1], clock: clock, last: .distantPast, as: first)
        let after = timestamps.beginEvent([1], clock: clock, last: before, as: second)
        #expect(before < after)
        let later = clock.addingTimeInterval(1)
        #expect(timestamps.report(1, later) < before)
        // The first event is stored while the second is still being written.
        timestamps.endEvent(first)
        let reported = timestamps.report(1, later)
        #expect(before <= reported && reported < after)
        timestamps.endEvent(second)
        #expect(timestamps.report(1, later) == later)
    }

    @Test func `an event of the whole store is not reported before it is stored`() {
        let timestamps = Timestamps(floor: .distantPast)
        let (first, second) = (timestamps.ticket(), timestamps.ticket())
        let before = timestamps.beginStoreEvent(clock: clock, last: .distantPast, as: first)
        let after = timestamps.beginStoreEvent(clock: clock, last: before, as: second)
        timestamps.endEvent(first)
        #expect(timestamps.report(7, clock.addingTimeInterval(1)) < after)
    }

    @Test func `a repeated event has the timestamp of its last run`() {
        let timestamps = Timestamps(floor: .distantPast)
        let ticket = timestamps.ticket()
        _ = timestamps.beginEvent([1], clock: clock, last: .distantPast, as: ticket)
        let again = timestamps.beginEvent([2], clock: clock, last: .distantPast, as: ticket)
        let later = clock.addingTimeInterval(1)
        #expect(timestamps.report(1, later) == later)
        #expect(timestamps.report(2, later) < again)
    }

    @Test func `an event is later than every report, also to accounts beyond the 4,096 that are remembered`() {
        let timestamps = Timestamps(floor: .distantPast)
        for account in 1...6000 { #expect(timestamps.report(Int64(account), clock) >= clock) }
        _ = timestamps.report(7000, clock.addingTimeInterval(0.5))
        for account in 7001...11_000 { _ = timestamps.report(Int64(account), clock) }
        for account in [1, 5999, 6000, 7001, 11_000] {
            let ticket = timestamps.ticket()
            #expect(timestamps.beginEvent([Int64(account)], clock: clock, last: clock, as: ticket) > clock)
            timestamps.endEvent(ticket)
        }
        let ticket = timestamps.ticket()
        #expect(
            timestamps.beginEvent([7000], clock: clock, last: .distantPast, as: ticket) > clock.addingTimeInterval(0.5))
    }

    @Test func `each event is signed later than everything reported before, also among many in one millisecond`() {
        let timestamps = Timestamps(floor: .distantPast)
        var (last, signed, clock) = (Date.distantPast, Int64.min, clock)
        for step in 0..<5000 {
            // Many events within a millisecond, then a few milliseconds in a row.
            if step % 1500 >= 1400 { clock.addTimeInterval(0.001) }
            clock = clock.wholeMilliseconds
            if step % 3 == 0 {
                let reported = timestamps.report(1, max(clock, last))
                #expect(reported >= max(clock, last) && Timestamps.signed(reported) >= signed)
                signed = Timestamps.signed(reported)
            }
            let ticket = timestamps.ticket()
            let instant = timestamps.beginEvent([1], clock: clock, last: last, as: ticket)
            let before = timestamps.report(1, instant.addingTimeInterval(1))
            #expect(before < instant && instant > last && Timestamps.signed(instant) > signed)
            #expect(Timestamps.signed(before) >= signed && Timestamps.signed(before) < Timestamps.signed(instant))
            timestamps.endEvent(ticket)
            (last, signed) = (instant, Timestamps.signed(instant))
        }
    }

    @Test func `documents signed just before, at and after an event have dates in that order`() async throws {
        try await TestStore.with { test in
            let bought = try await test.buy("pack")
            let sale = try test.store.read({ try $0.existingAccount("anna") }) { db, account, now in
                Sale(
                    transaction: try #require(try db.purchase(Int64(bought.transactionID.rawValue) ?? 0, at: now)),
                    account: account, now: now)
            }
            let event = Fixtures.start.addingTimeInterval(60)
            let dates = try [Timestamps.before(event), event, Timestamps.next(event)].map { instant in
                try test.payload(
                    try test.store.signer.sign(
                        sale.transaction, appTransactionID: "1", at: instant, isFresh: true)
                ).signedDate
            }
            let reported = try dates.map { try #require($0) }
            #expect(reported[0] < reported[1] && reported[1] < reported[2])
            #expect(reported[1] == event)
        }
    }
}
