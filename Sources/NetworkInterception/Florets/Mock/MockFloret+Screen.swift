import PluginHub

extension MockFloret: DisplayableFloret {
    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        let (mode, counts, misses, recordings) = state.withLock {
            ($0.mode, $0.counts, $0.lastMisses, $0.recordings.values.reduce(0) { $0 + $1.count })
        }
        return ViewDocument(
            title: name,
            sections: [
                .init(
                    rows: [
                        .choice(
                            id: "mode", label: "Mode",
                            options: [
                                .init("record", label: "Record"), .init("mock", label: "Answer known requests"),
                                .init("forced", label: "Answer or fail"),
                            ].filter { folder != nil || $0.value != "record" },
                            selected: mode.word, action: .init("mock.configure")),
                        .text("Recordings", "\(recordings)"), .text("Rules", "\(rules.count)"),
                        .text("Answered", "\(counts.answered)"), .text("Recorded", "\(counts.recorded)"),
                        .text("Requests without a mock", "\(counts.missed)"),
                    ], actions: [.init("mock.rewind", label: "Restart all sequences")]),
                .init(title: "Latest requests without a mock", rows: misses.reversed().map { .text($0) }),
            ].filter { !$0.rows.isEmpty })
    }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        switch action.id {
        case "mock.rewind": rewind()
        case "mock.configure":
            switch try action.text("mode") {
            case "record" where folder != nil: mode = .record
            case "mock": mode = .mock(forced: false)
            case "forced": mode = .mock(forced: true)
            default: throw action.invalid("mode", folder == nil ? "mock or forced" : "record, mock or forced")
            }
        default: throw unknown(action)
        }
    }
}

extension MockFloret.Mode {
    fileprivate var word: String {
        switch self {
        case .record: "record"
        case .mock(let isForced): isForced ? "forced" : "mock"
        }
    }
}
