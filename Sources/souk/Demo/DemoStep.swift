import Primitives

/// A step of the demonstration. The raw values are the names in the output of `souk demo --json`.
enum DemoStep: String, CaseIterable, Sendable {
    case products, subscription, nonConsumable, consumable, grant, sources, renewal, cancellation, expiry, googlePlay
    case serverKilled, repeated, tampered, forged, otherBundle, otherRoot, restore
}

/// A check that failed; one sentence with the expected and the actual value.
struct DemoFault: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}

/// The reason why a step is skipped, such as a catalogue without a suitable product.
struct DemoSkip: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}

/// The result of each step, printed as soon as it is known.
struct DemoReport: Sendable {
    struct Entry: Sendable {
        let step: DemoStep
        let isFine: Bool
        let isSkipped: Bool
        let detail: String
    }

    private(set) var entries: [Entry] = []
    let isQuiet: Bool
    /// The reason why the results could not be printed further.
    private(set) var outputFailure: OutputFailure?

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    var isFine: Bool { entries.allSatisfy(\.isFine) }

    /// Runs `body`, which returns a description of its actions and checks. Returns whether the scenario can continue.
    mutating func run(_ step: DemoStep, _ body: () async throws -> String) async -> Bool {
        let entry: Entry
        do {
            entry = Entry(step: step, isFine: true, isSkipped: false, detail: try await body())
        } catch let skip as DemoSkip {
            entry = Entry(step: step, isFine: true, isSkipped: true, detail: skip.sentence)
        } catch let fault as DemoFault {
            entry = Entry(step: step, isFine: false, isSkipped: false, detail: fault.sentence)
        } catch let failure as Failure {
            entry = Entry(step: step, isFine: false, isSkipped: false, detail: failure.sentence)
        } catch {
            entry = Entry(step: step, isFine: false, isSkipped: false, detail: "\(error)")
        }
        add(entry)
        return entry.isFine && outputFailure == nil
    }

    /// Adds the steps that were not reached.
    mutating func close() {
        for step in DemoStep.allCases where !entries.contains(where: { $0.step == step }) {
            add(Entry(step: step, isFine: false, isSkipped: true, detail: "not reached"))
        }
    }

    var json: JSONValue {
        [
            "ok": .bool(isFine),
            "steps": .array(
                entries.map { entry in
                    [
                        "name": .string(entry.step.rawValue), "ok": .bool(entry.isFine),
                        "skipped": .bool(entry.isSkipped), "detail": .string(entry.detail),
                    ]
                }),
        ]
    }

    private mutating func add(_ entry: Entry) {
        entries.append(entry)
        guard !isQuiet, outputFailure == nil else { return }
        let mark =
            entry.isFine ? (entry.isSkipped ? Terminal.dim("–") : Terminal.green("✓")) : Terminal.red("✗")
        let name = entry.step.rawValue.padding(toLength: 14, withPad: " ", startingAt: 0)
        do throws(OutputFailure) {
            try Terminal.print("\(mark) \(Terminal.bold("\(name)")) \(entry.detail)")
        } catch {
            outputFailure = error
        }
    }
}

/// Repeats `check` every few milliseconds of real time until it returns a value.
///
/// Throws `DemoFault` with `what` after ten seconds.
func eventually<Value>(
    _ what: String, isolation: isolated (any Actor)? = #isolation, _ check: () async throws -> Value?
) async throws -> Value {
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: .seconds(10))
    while true {
        if let value = try await check() { return value }
        guard clock.now < end else { throw DemoFault("\(what): this did not happen within ten seconds") }
        try await Task.sleep(for: .milliseconds(5))
    }
}
