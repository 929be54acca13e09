import PluginHub
import Testing

@testable import WebPages

@Suite struct HubLayoutTests {
    /// A hub of `count` plugins with random messages that depend only on the seed.
    private func hub(_ count: Int, messages: Int, seed: UInt64) -> HubGraph {
        var state = seed
        func next(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        var policies = (0..<count).map { Policy(name: "Plugin \($0)") }
        for message in 0..<messages {
            let (from, to) = (next(below: count), next(below: count))
            switch next(below: 5) {
            case 0: policies[from].send.commands.append("m\(message)")
            case 1:
                policies[from].send.commands.append("m\(message)")
                policies[to].receive.commands.append("m\(message)")
            case 2:
                policies[from].send.queries.append("m\(message)")
                policies[to].receive.queries.append("m\(message)")
            case 3: policies[to].publish.events.append("m\(message)")
            default:
                policies[from].subscribe.events.append("m\(message)")
                policies[to].publish.events.append("m\(message)")
            }
        }
        return HubGraph(policies: policies)
    }

    private func overlap(_ one: HubLayout.Box, _ other: HubLayout.Box) -> Bool {
        one.left < other.right && other.left < one.right && one.top < other.top + other.height
            && other.top < one.top + one.height
    }

    @Test(arguments: [(1, 0), (2, 3), (5, 12), (12, 40), (30, 90), (60, 150)] as [(Int, Int)], [UInt64](1...4))
    func `every plugin and arrow is drawn once, and no boxes overlap`(size: (Int, Int), seed: UInt64) {
        let graph = hub(size.0, messages: size.1, seed: seed)
        let layout = HubLayout(graph)
        #expect(layout.boxes.map(\.plugin) == graph.plugins)
        #expect(Set(layout.lines.map(\.arrow) + layout.stubs.map(\.arrow)) == Set(graph.arrows))
        #expect(layout.lines.count + layout.stubs.count == graph.arrows.count)
        for (index, box) in layout.boxes.enumerated() {
            #expect(box.left >= 0 && box.top >= 0 && box.right <= layout.width && box.top + box.height <= layout.height)
            for other in layout.boxes[(index + 1)...] { #expect(!overlap(box, other), "\(box) \(other)") }
        }
    }

    @Test(arguments: [UInt64](1...6))
    func `lines begin and end at their boxes and pass through no box`(seed: UInt64) throws {
        let layout = HubLayout(hub(14, messages: 40, seed: seed))
        var places: Set<String> = []
        for line in layout.lines {
            let ends = [line.arrow.from, line.arrow.to].compactMap { $0 }.map { layout.boxes[$0] }
                .sorted { $0.left < $1.left }
            let (first, last) = (try #require(line.segments.first), try #require(line.segments.last))
            #expect(first.start == ends[0].right && last.end == ends[1].left)
            #expect(ends[0].top...(ends[0].top + ends[0].height) ~= first.y)
            #expect(ends[1].top...(ends[1].top + ends[1].height) ~= last.y)
            #expect(line.pointsLeft == (line.arrow.to == ends[0].plugin.id))
            for (here, next) in zip(line.segments, line.segments.dropFirst()) { #expect(here.end < next.start) }
            for segment in line.segments {
                let hit = layout.boxes.first {
                    segment.start < $0.right && segment.end > $0.left && ($0.top...($0.top + $0.height)) ~= segment.y
                }
                #expect(hit == nil, "\(line.arrow) runs through \(hit?.plugin.name ?? "")")
            }
            #expect(places.insert("\(first.start) \(first.y)").inserted, "two lines leave at one place")
            #expect(places.insert("\(last.end) \(last.y)").inserted, "two lines arrive at one place")
        }
    }

    @Test func `callers are left of callees, and subscribers left of publishers`() {
        let layout = HubLayout(
            HubGraph(policies: [
                Policy(name: "A network", receive: .init(commands: ["fetch"]), publish: ["answer"]),
                Policy(
                    name: "B model", send: .init(commands: ["fetch"]), receive: .init(commands: ["refresh"]),
                    publish: ["info"], subscribe: ["answer"]),
                Policy(name: "C screen", send: .init(commands: ["refresh"]), subscribe: ["info"]),
            ]))
        #expect(layout.boxes.sorted { $0.left < $1.left }.map(\.plugin.name) == ["C screen", "B model", "A network"])
        #expect(layout.lines.filter(\.pointsLeft).map(\.arrow.kind) == [.event, .event])
    }

    @Test func `the plugins of a cycle are in separate columns`() {
        let names = ["A", "B", "C"]
        let policies = names.indices.map { index in
            Policy(
                name: names[index], send: .init(commands: ["to \(names[(index + 1) % 3])"]),
                receive: .init(commands: ["to \(names[index])"]))
        }
        let layout = HubLayout(HubGraph(policies: policies))
        #expect(Set(layout.boxes.map(\.left)).count == 3)
        #expect(layout.lines.count == 3)
    }

    @Test func `unused messages are left of their box, and missing ones right of it`() {
        let layout = HubLayout(
            HubGraph(policies: [
                Policy(
                    name: "A", send: .init(commands: ["missing", "own"]),
                    receive: .init(queries: ["unused"], viewControllerQueries: []), publish: ["unheard"])
            ]))
        let sides = layout.stubs.map { "\($0.arrow.messages.joined()) \($0.isRight ? "right" : "left")" }
        #expect(Set(sides) == ["missingown right", "unused left", "unheard left"])
        #expect(layout.stubs.allSatisfy { $0.shape == .open })
    }

    @Test func `a plugin that calls itself has a loop`() {
        let layout = HubLayout(
            HubGraph(policies: [Policy(name: "A", send: .init(commands: ["x"]), receive: .init(commands: ["x"]))]))
        #expect(layout.lines.isEmpty)
        #expect(layout.stubs.map(\.shape) == [.loop])
    }

    @Test func `plugins without messages fill columns, and without plugins there is no picture`() {
        let many = HubLayout(HubGraph(policies: (0..<9).map { Policy(name: "P\($0)") }))
        #expect(Set(many.boxes.map(\.left)).count == 3)
        #expect(HubLayout(HubGraph(policies: [])).boxes.isEmpty)
    }

    @Test func `a chain of a thousand plugins is drawn`() {
        let policies = (0..<1000).map { index in
            Policy(name: "P\(index)", send: .init(commands: ["c\(index + 1)"]), receive: .init(commands: ["c\(index)"]))
        }
        let layout = HubLayout(HubGraph(policies: policies))
        #expect(layout.lines.count == 999)
    }

    @Test func `captions are short and count further messages`() {
        let long = String(repeating: "long.", count: 20)
        let graph = HubGraph(policies: [Policy(name: long, send: .init(commands: [long, "z"]))])
        #expect(HubLayout(graph).stubs.map(\.label.text) == [long.prefix(29) + "… +1"])
    }
}
