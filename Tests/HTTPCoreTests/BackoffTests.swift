import HTTPCore
import Testing

@Suite struct BackoffTests {
    private let backoff = Backoff(attempts: 6, initial: .milliseconds(500), maximum: .seconds(5))

    @Test func `pauses double up to the longest one, and no pause follows the last attempt`() {
        let longest = (1...7).map { backoff.pause(after: $0, asked: nil, spread: 1) }
        #expect(
            longest == [
                .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(5), nil, nil,
            ])
    }

    @Test func `the spread selects a pause between half of the backoff and all of it`() {
        #expect(backoff.pause(after: 3, asked: nil, spread: 0) == .seconds(1))
        #expect(backoff.pause(after: 3, asked: nil, spread: 0.5) == .milliseconds(1500))
        #expect(backoff.pause(after: 3, asked: nil, spread: 1) == .seconds(2))
    }

    @Test func `the server's pause is used unchanged, and a pause that is too long ends the attempts`() {
        #expect(backoff.pause(after: 1, asked: .zero, spread: 1) == .zero)
        #expect(backoff.pause(after: 1, asked: .seconds(5), spread: 0) == .seconds(5))
        #expect(backoff.pause(after: 1, asked: .milliseconds(5001), spread: 0) == nil)
        #expect(backoff.pause(after: 6, asked: .zero, spread: 0) == nil, "no attempt is left")
    }

    @Test func `there is at least one attempt, and the pause after the thousandth attempt is the maximum`() {
        #expect(Backoff.none.pause(after: 1, asked: nil, spread: 1) == nil)
        #expect(Backoff(attempts: -3).attempts == 1)
        #expect(Backoff(attempts: 2000).pause(after: 1000, asked: nil, spread: 1) == .seconds(10))
    }
}
