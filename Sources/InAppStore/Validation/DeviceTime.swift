import Foundation
import StoreModel

/// What time it is on a device whose clock may be set back: never earlier than an instant that is known to have come.
///
/// A clock that reads less than that is believed in nothing but its pace: time goes on from where it was as fast as the
/// clock runs, until the clock has caught up or the server says what time it is. What passed while nobody read the clock
/// is not known.
struct DeviceTime: Sendable, Equatable, Codable {
    /// The latest instant known to have come.
    private(set) var latest: Date
    /// What the clock read then.
    private(set) var reading: Date

    init(reading: Date) {
        latest = reading
        self.reading = reading
    }

    /// The clock was read. Returns what time it is.
    mutating func read(_ clock: Date) -> Date {
        latest = clock >= latest ? clock : latest + max(0, clock.timeIntervalSince(reading))
        reading = clock
        return latest
    }

    /// The server has answered, and its word counts more than any clock's: also when this device's was ahead for a while.
    ///
    /// An answer that has not changed since may be as old as the one before (HTTP's 304): it only proves that its end has
    /// not come.
    mutating func learn(_ answer: Customer, after before: Customer?) {
        let isFresh = answer.asOf != before?.asOf
        let isPast = answer.validUntil.map { $0 <= latest } ?? false
        if isFresh || isPast { latest = answer.asOf }
    }
}
