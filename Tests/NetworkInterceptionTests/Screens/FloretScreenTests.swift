import BaseTestSupport
import HTTPCore
import PluginHub
import Primitives
import Testing

@testable import NetworkInterception

/// The screens of florets, without the UIKit code that draws them.
@MainActor @Suite struct FloretScreenTests {
    /// A floret that counts the actions of its screen, one after another.
    private final class Counter: InterceptableFloret, DisplayableFloret {
        let count = Locked(0)
        var enabled: Bool {
            get { power.isOn }
            set { power.isOn = newValue }
        }
        private let power = Switch(false)

        var name: String { "Counter" }
        var summary: String? { "Counts." }

        func view(_ interceptor: Interceptor) -> ViewDocument? {
            ViewDocument(title: "Count", sections: [.init(rows: [.text("Count", "\(count.withLock { $0 })")])])
        }

        func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
            guard action.id == "count" else { throw unknown(action) }
            let before = count.withLock { $0 }
            await letOthersRun(times: 1)
            count.withLock { $0 = before + 1 }
        }
    }

    private final class Silent: DisplayableFloret {}

    @Test func `a row has the name, summary and capabilities of a floret`() {
        let counter = Counter()
        let florets: [any Floret] = [counter, NoCacheFloret(enabled: true), Silent(), InspectorFloret()]
        let interceptor = Interceptor(florets)
        var rows: [FloretRow] { florets.map { FloretRow($0, in: interceptor) } }
        #expect(rows.map(\.name) == ["Counter", "NoCacheFloret", "Silent", "InspectorFloret"])
        #expect(rows[0].summary == "Counts." && rows[2].summary == nil)
        #expect(rows.map(\.isEnabled) == [false, true, nil, nil])
        #expect(rows.map(\.hasDocument) == [true, false, false, true])
        counter.enabled = true
        #expect(rows[0].isEnabled == true)
    }

    @Test func `actions are performed one after the other, and the document is drawn after each`() async {
        let counter = Counter()
        let screen = FloretScreen(counter, in: Interceptor([counter]))
        var drawn: [ViewDocument?] = []
        screen.onChange = { [unowned screen] refusal in
            #expect(refusal == nil)
            drawn.append(screen.document)
        }
        var last: Task<Void, Never>?
        for _ in 0..<20 { last = screen.perform(.init("count")) }
        await last?.value
        #expect(counter.count.withLock { $0 } == 20)
        #expect(drawn.count == 20)
        #expect(drawn.last??.sections.first?.rows == [.text("Count", "20")])
    }

    @Test func `a refused action is shown with its sentence, and the next one is performed`() async {
        let counter = Counter()
        let screen = FloretScreen(counter, in: Interceptor([counter]))
        var refusals: [String?] = []
        screen.onChange = { refusals.append($0) }
        screen.perform(.init("explode"))
        await screen.perform(.init("count")).value
        #expect(refusals == ["The floret \"Counter\" has no action \"explode\".", nil])
        #expect(counter.count.withLock { $0 } == 1)
    }

    @Test func `a released screen performs no waiting action`() async {
        let counter = Counter()
        var screen: FloretScreen? = FloretScreen(counter, in: Interceptor([counter]))
        let first = screen?.perform(.init("count"))
        let second = screen?.perform(.init("count"))
        screen = nil
        await first?.value
        await second?.value
        #expect(counter.count.withLock { $0 } == 0)
    }
}
