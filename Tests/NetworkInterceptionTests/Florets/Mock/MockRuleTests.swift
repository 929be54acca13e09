import HTTPCore
import NetworkInterception
import Testing

/// Answers from mappings and rules.
@Suite struct MockRuleTests {
    @Test func `mappings are tried in the order in which they were added, before rules, and can be removed`()
        async throws
    {
        let mock = MockFloret(rules: [.init(.path("/a"), [Response(status: 203)])])
        let scene = FloretScene([mock])
        let silent = mock.addMapping { _, _ in nil }
        let byPath = mock.addMapping(forURLPath: "/a") { request, _ in
            Response(status: 201, body: .text(request.method.rawValue))
        }
        mock.addMapping(forURL: "http://a.example/a?x=1") { _, _ in Response(status: 202) }
        #expect(try await scene.send(.put, "http://a.example/a?x=1").body.text() == "PUT")
        mock.removeMapping(byPath)
        mock.removeMapping(silent)
        #expect(try await scene.send(.get, "http://a.example/a?x=1").status == 202)
        #expect(try await scene.send(.get, "http://a.example/a?x=2").status == 203)
        #expect(try await scene.send(.get, "http://a.example/b").status == 200)
        #expect(scene.arrived.withLock { $0.count } == 1)
        #expect(mock.counts == .init(answered: 3, missed: 1))
    }

    @Test(arguments: [
        (MockFloret.WhenUsedUp.repeatLast, [1, 2, 2, 2, 2]), (.cycle, [1, 2, 1, 2, 1]), (.fail, [1, 2, 9, 9, 9]),
    ])
    func `a rule returns its answers in order, then repeats the last, begins again or no longer applies`(
        whenUsedUp: MockFloret.WhenUsedUp, expected: [Int]
    ) async throws {
        let mock = MockFloret(rules: [
            .init(.all(), [Response(status: 201), Response(status: 202)], whenUsedUp: whenUsedUp),
            .init(.all(), [Response(status: 209)]),
        ])
        let scene = FloretScene([mock])
        for status in expected { #expect(try await scene.send().status == 200 + status) }
        mock.rewind()
        #expect(try await scene.send().status == 201)
    }

    @Test func `a rule can select requests by their buffered or streamed body`() async throws {
        let mock = MockFloret(rules: [
            .init(.bodyJSON(["user": ["name": "anna"]]), [Response(status: 201)]),
            .init(.method(.post) && .body(containing: "berta"), [Response(status: 202)]),
        ])
        let scene = FloretScene([mock])
        #expect(try await scene.send(.post, body: .pieces(#"{"user": {"na"#, #"me": "anna", "id": 1}}"#)).status == 201)
        #expect(try await scene.send(.post, body: .text(#"{"user": "berta"}"#)).status == 202)
        let list = FloretScene([MockFloret(rules: [.init(.bodyJSON([1, 2]), [Response(status: 201)])])])
        #expect(try await list.send(.post, body: .text("[1, 2]")).status == 201)
        for other in ["[1]", "[1, 2, 3]", "[2, 1]"] {
            #expect(try await list.send(.post, body: .text(other)).status == 200)
        }
        let passed = try await scene.send(.post, body: .pieces("ca", "rla"))
        #expect(try await passed.body.text() == "carla")
    }

    @Test func `each of many concurrent requests gets a different answer of a rule`() async throws {
        let mock = MockFloret(rules: [.init(.all(), (0..<100).map { Response(status: 200 + $0) }, whenUsedUp: .fail)])
        let scene = FloretScene([mock])
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await scene.send().status } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses.count == 100)
    }
}
