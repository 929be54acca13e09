import HTTPCore
import PluginHub
import Primitives

/// Changes requests and answers by rules: headers, URLs, and text in bodies.
///
///     FindReplaceFloret(
///         willRequest: [.header(.set("X-Tester", "anna")), .url(replacing: .literal("/v1/"), with: "/v2/")],
///         didRespond: [.body(replacing: try .regularExpression(#""price":\d+"#), with: #""price":0"#)])
///
/// The modifiers of a side are applied in their order, each to what those before it made of the record. A request that
/// has been answered already is left as it is.
public final class FindReplaceFloret: InterceptableFloret, DisplayableFloret {
    public let name: String
    public let summary: String?
    private let willRequestModifiers: [RecordModifier]
    private let didRespondModifiers: [RecordModifier]
    private let power: Switch

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
            let (changed, complaint) = await modifier.modify(record, side)
            record = changed
            if let complaint { Interceptor.current?.report(.leftUnchanged, floret: name, complaint) }
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
    /// Something that a floret would have changed passed as it was; the message says why.
    public static var leftUnchanged: Self { Self(rawValue: "leftUnchanged") }
}
