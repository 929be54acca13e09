import Foundation
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Whatever happens is later than everything that was told before, whoever asks meanwhile.
struct MomentsTests {
    private let clock = Fixtures.start

    @Test func `nothing is told of an entry before all that share its commit are in the books`() {
        let moments = Moments(floor: .distantPast)
        let (first, second) = (moments.ticket(), moments.ticket())
        let before = moments.enter([1], clock: clock, last: .distantPast, as: first)
        let after = moments.enter([1], clock: clock, last: before, as: second)
        #expect(before < after)
        let later = clock.addingTimeInterval(1)
        #expect(moments.tell(1, later) < before)
        // The first is answered when the second is being written still.
        moments.left(first)
        let told = moments.tell(1, later)
        #expect(before <= told && told < after)
        moments.left(second)
        #expect(moments.tell(1, later) == later)
    }

    @Test func `two entries for everybody are told when both are in the books`() {
        let moments = Moments(floor: .distantPast)
        let (first, second) = (moments.ticket(), moments.ticket())
        let before = moments.enterAll(clock: clock, last: .distantPast, as: first)
        let after = moments.enterAll(clock: clock, last: before, as: second)
        moments.left(first)
        #expect(moments.tell(7, clock.addingTimeInterval(1)) < after)
    }

    @Test func `an entry that is run again stands at its last instant`() {
        let moments = Moments(floor: .distantPast)
        let ticket = moments.ticket()
        _ = moments.enter([1], clock: clock, last: .distantPast, as: ticket)
        let again = moments.enter([2], clock: clock, last: .distantPast, as: ticket)
        let later = clock.addingTimeInterval(1)
        #expect(moments.tell(1, later) == later)
        #expect(moments.tell(2, later) < again)
    }

    @Test func `an event is later than what was told to more accounts than are remembered`() {
        let moments = Moments(floor: .distantPast)
        for account in 1...6000 { #expect(moments.tell(Int64(account), clock) >= clock) }
        // One account is ahead of a clock that stands still.
        _ = moments.tell(7000, clock.addingTimeInterval(0.5))
        for account in 7001...11_000 { _ = moments.tell(Int64(account), clock) }
        for account in [1, 5999, 6000, 7001, 11_000] {
            let ticket = moments.ticket()
            #expect(moments.enter([Int64(account)], clock: clock, last: clock, as: ticket) > clock)
            moments.left(ticket)
        }
        let ticket = moments.ticket()
        #expect(
            moments.enter([7000], clock: clock, last: .distantPast, as: ticket) > clock.addingTimeInterval(0.5))
    }

    @Test func `whatever happens is signed later than all before, at any speed`() {
        let moments = Moments(floor: .distantPast)
        var (last, signed, clock) = (Date.distantPast, Int64.min, clock)
        for step in 0..<5000 {
            // Many within a millisecond, then a few milliseconds one after another.
            if step % 1500 >= 1400 { clock.addTimeInterval(0.001) }
            clock = clock.wholeMilliseconds
            if step % 3 == 0 {
                let told = moments.tell(1, max(clock, last))
                #expect(told >= max(clock, last) && Moments.signed(told) >= signed)
                signed = Moments.signed(told)
            }
            let ticket = moments.ticket()
            let instant = moments.enter([1], clock: clock, last: last, as: ticket)
            let before = moments.tell(1, instant.addingTimeInterval(1))
            #expect(before < instant && instant > last && Moments.signed(instant) > signed)
            #expect(Moments.signed(before) >= signed && Moments.signed(before) < Moments.signed(instant))
            moments.left(ticket)
            (last, signed) = (instant, Moments.signed(instant))
        }
    }

    @Test func `what is signed just before an event is dated before it`() async throws {
        try await TestStore.with { test in
            let bought = try await test.buy("pack")
            let sale = try test.store.look({ try $0.known("anna") }) { books, account, now in
                Sale(
                    transaction: try #require(try books.purchase(Int64(bought.transactionID.rawValue) ?? 0, at: now)),
                    account: account, now: now)
            }
            let event = Fixtures.start.addingTimeInterval(60)
            let dates = try [Moments.before(event), event, Moments.next(event)].map { instant in
                try test.payload(
                    try test.store.signer.sign(
                        sale.transaction, appTransactionID: "1", at: instant, isFresh: true)
                ).signedDate
            }
            let told = try dates.map { try #require($0) }
            #expect(told[0] < told[1] && told[1] < told[2])
            #expect(told[1] == event)
        }
    }
}
