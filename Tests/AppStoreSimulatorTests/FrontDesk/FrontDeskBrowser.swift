import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

@testable import AppStoreSimulator

extension TestStore {
    /// Runs steps on the front desk in a browser and returns their results. Fails for errors of the page, for requests
    /// to other servers, and for dialogs of the browser.
    ///
    /// - Parameters:
    ///   - steps: The steps, as `Tests/Judges/browser.py` describes them.
    ///   - fragment: The fragment of the address.
    ///   - refusals: The number of requests that the store refuses, which the browser reports as errors.
    func browse(
        _ steps: [JSONValue], at fragment: String = "", width: Int = 1280, height: Int = 900,
        scheme: String = "light", refusals: Int = 0
    ) async throws -> [JSONValue] {
        try await withLoopbackServer(store.handler, stopGracePeriod: .milliseconds(50)) { url in
            let verdict = try await OutsideJudge.judge(
                "browser.py",
                [
                    "url": .string(url + "/" + fragment), "width": .number(width), "height": .number(height),
                    "scheme": .string(scheme), "steps": .array(steps),
                ])
            try #require(verdict.status == 0, "\(verdict.errors) \(verdict.output)")
            let report = try #require(verdict.json)
            let console = (report["console"]?.arrayValue ?? []).compactMap(\.stringValue)
            let refused = console.filter { $0.hasPrefix("Failed to load resource: the server responded with") }
            #expect(refused.count == refusals)
            #expect(console.count == refused.count, "\(console)")
            #expect(report["dialogs"] == [])
            for request in report["requests"]?.arrayValue ?? [] {
                #expect(request.stringValue?.hasPrefix(url + "/") == true, "\(request)")
            }
            return report["answers"]?.arrayValue ?? []
        }
    }
}

/// Steps that tests of the front desk share.
enum DeskStep {
    static func wait(_ condition: String) -> JSONValue { ["until": .string(condition)] }
    static func answer(_ expression: String) -> JSONValue { ["evaluate": .string(expression)] }
    static func click(_ selector: String) -> JSONValue { ["click": .string(selector)] }
    static func fill(_ selector: String, _ text: String) -> JSONValue {
        ["fill": .string(selector), "with": .string(text)]
    }

    /// Clicks the first visible button whose accessible name is `name`.
    static func press(_ name: String) -> JSONValue { click("role=button[name=\"\(name)\"]") }
    /// Submits the dialog, and waits until it is closed.
    static let confirm = [click("#sheet-go"), wait("!document.querySelector('#sheet').open")]
    /// Waits until the result of an action contains `text`.
    static func result(_ text: String) -> JSONValue {
        wait("document.querySelector('#outcome').textContent.includes('\(text)')")
    }
    /// Waits until the table of transactions has `count` rows.
    static func transactions(_ count: Int) -> JSONValue {
        wait("document.querySelectorAll('#transactions tbody tr:not(.more)').length === \(count)")
    }
    static let command: JSONValue = ["text": "#last-command code"]
    static let fits = answer("document.documentElement.scrollWidth <= innerWidth")
}
