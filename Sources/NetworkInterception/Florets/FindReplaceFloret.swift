import HTTPCore
import PluginHub
import Primitives

/// Changes requests and responses by rules: headers, URLs, and text in bodies.
///
///     FindReplaceFloret(
///         willRequest: [.header(.set("X-Tester", "anna")), .url(replacing: .literal("/v1/"), with: "/v2/")],
///         didRespond: [.body(replacing: try .regularExpression(#""price":\d+"#), with: #""price":0"#)])
///
/// The modifiers of each list are applied in order, each to the result of the previous modifier. A request that already
/// has a result is not changed.
public final class FindReplaceFloret: InterceptableFloret, DisplayableFloret {
    public let name: String
    public let summary: String?
    private let willRequestModifiers: [RecordModifier]
    private let didRespondModifiers: [RecordModifier]
    private let power: Switch

    /// Creates a floret.
    ///
    /// - Parameters:
    ///   - willRequestModifiers: The changes of requests.
    ///   - didRespondModifiers: The changes of responses.
    ///   - name: The name on screens and in records.
    ///   - summary: A sentence about the floret.
    ///   - enabled: Whether the floret is initially enabled.
    public init(
        willRequest willRequestModifiers: [RecordModifier] = [], didRespond didRespondModifiers: [RecordModifier] = [],
        name: String = "FindReplaceFloret", summary: String? = nil, enabled: Bool = true
    ) {
        self.willRequestModifiers = willRequestModifiers
        self.didRespondModifiers = didRespondModifiers
        self.name = name
        self.summary = summary
        power = Switch(enabled)
    }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    public func willRequest(_ record: Record) async -> Record {
        record.result == nil ? await modified(record, .request, by: willRequestModifiers) : record
    }

    public func didRespond(_ record: Record) async -> Record {
        await modified(record, .response, by: didRespondModifiers)
    }

    private func modified(
        _ record: Record, _ side: RecordModifier.Side, by modifiers: [RecordModifier]
    ) async -> Record {
        var record = record
        for modifier in modifiers {
            let (changed, warning) = await modifier.modify(record, side)
            record = changed
            if let warning { Interceptor.current?.report(.leftUnchanged, floret: name, warning) }
        }
        return record
    }

    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        func rows(_ modifiers: [RecordModifier]) -> [ViewDocument.Row] { modifiers.map { .text($0.name) } }
        return ViewDocument(
            title: name,
            sections: [
                .init(title: "Requests", rows: rows(willRequestModifiers)),
                .init(title: "Answers", rows: rows(didRespondModifiers)),
            ].filter { !$0.rows.isEmpty })
    }
}

extension InterceptionReport.Code {
    /// A message was left unchanged although a floret should have changed it. The report gives the reason.
    public static var leftUnchanged: Self { Self(rawValue: "leftUnchanged") }
}
