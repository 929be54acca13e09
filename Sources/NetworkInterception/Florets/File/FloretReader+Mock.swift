import HTTPCore
import Primitives

extension FloretReader {
    private enum Mode: String, CaseIterable { case record, mock, forced }
    /// The greatest size of a HAR file that is read.
    private static let maximumHARBytes = 256 << 20

    func mock(_ value: FileValue) throws -> MockFloret {
        _ = try value.object(
            "floret", "enabled", "mode", "folder", "har", "rules", "then", "ignoreHost", "ignorePort", "ignoreQuery",
            "ignoreQueryItems", "headers", "body", "ignoreBodyItems",
            "refreshDates")
        func names(_ name: String) throws -> [String] { try value[name]?.array().map { try $0.text() } ?? [] }
        let mode: MockFloret.Mode =
            switch try value["mode"]?.oneOf(Mode.self) ?? .mock {
            case .record: .record
            case .mock: .mock(forced: false)
            case .forced: .mock(forced: true)
            }
        let rules = try value["rules"]?.array().map(mockRule) ?? []
        var configuration = MockFloret.Configuration.standard
        configuration.redaction = redaction
        configuration.whenUsedUp = try value["then"]?.oneOf(MockFloret.WhenUsedUp.self) ?? .repeatLast
        configuration.refreshesDates = try value["refreshDates"]?.bool() ?? false
        configuration.matching.ignoresHost = try value["ignoreHost"]?.bool() ?? false
        configuration.matching.ignoresPort = try value["ignorePort"]?.bool() ?? false
        configuration.matching.ignoresQuery = try value["ignoreQuery"]?.bool() ?? false
        configuration.matching.ignoredQueryItems = Set(try names("ignoreQueryItems"))
        configuration.matching.headers = try names("headers")
        configuration.matching.comparesBody = try value["body"]?.bool() ?? false
        configuration.matching.ignoredBodyItems = Set(try names("ignoreBodyItems"))
        let mock: MockFloret
        if let folder = value["folder"] {
            mock = try MockFloret(mode, folder: path(folder), rules: rules, configuration: configuration)
        } else if mode == .record {
            throw value.refusal("must have a \"folder\" to record to")
        } else {
            mock = MockFloret(mode, rules: rules, configuration: configuration)
        }
        if let har = value["har"] { mock.replay(try records(har)) }
        return mock
    }

    private func path(_ value: FileValue) throws -> String {
        let path = try value.text()
        return path.hasPrefix("/") ? path : "\(folder)/\(path)"
    }

    /// Reads the exchanges of a HAR file, in the order of the file.
    private func records(_ value: FileValue) throws -> [Record] {
        let path = try path(value)
        let content: [UInt8]?
        do { content = try DurableFile.read(path, upTo: Self.maximumHARBytes) } catch {
            throw value.refusal("cannot be read", error)
        }
        guard let content else { throw value.refusal("is not an existing file") }
        do { return try HARDocument(parsing: content).records } catch {
            throw InterceptionError(error.code, "\(path): \(error.reason)", underlying: error.underlying)
        }
    }

    private func mockRule(_ value: FileValue) throws -> MockFloret.Rule {
        _ = try value.object("name", "match", "answers", "then")
        return MockFloret.Rule(
            try selector(value), try value.required("answers").array().map { try response($0) },
            whenUsedUp: try value["then"]?.oneOf(MockFloret.WhenUsedUp.self) ?? .repeatLast,
            name: try value["name"]?.text() ?? "Rule")
    }

    /// Reads a response. Paths in it are relative to the folder of the florets file. `more` is the name of one more
    /// permitted member.
    func response(_ value: FileValue, _ more: String = "status") throws -> Response {
        try MessageReader(folder: folder).response(value, more)
    }
}
