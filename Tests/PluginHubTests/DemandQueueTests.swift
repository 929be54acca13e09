import Testing

@testable import PluginHub

/// Delivery to a reader with a limited demand, as in Combine.
@Suite struct DemandQueueTests {
    private func take(_ queue: inout DemandQueue<Int>, demanding more: Int? = 0) -> String? {
        guard let step = queue.next() else { return nil }
        defer { queue.delivered(demanding: more) }
        return switch step {
        case .element(let element): "\(element)"
        case .finished: "finished"
        }
    }

    @Test func `elements are not delivered before they are demanded`() {
        var queue = DemandQueue<Int>()
        queue.append(1)
        #expect(take(&queue) == nil)
        queue.demand(1)
        queue.append(2)
        #expect(take(&queue) == "1")
        #expect(take(&queue) == nil)
        queue.demand(nil)
        #expect(take(&queue) == "2")
    }

    @Test func `the demand after a delivery is added, and an unlimited demand stays unlimited`() {
        var queue = DemandQueue<Int>()
        for number in 1...4 { queue.append(number) }
        queue.demand(1)
        #expect(take(&queue, demanding: 1) == "1")
        #expect(take(&queue, demanding: nil) == "2")
        queue.demand(1)
        #expect(take(&queue) == "3")
        #expect(take(&queue) == "4")
    }

    @Test func `only one caller delivers at a time`() {
        var queue = DemandQueue<Int>()
        queue.append(1)
        queue.append(2)
        queue.demand(nil)
        #expect(queue.next() != nil)
        #expect(queue.next() == nil)
        queue.delivered(demanding: 0)
        #expect(queue.next() != nil)
    }

    @Test func `the end is delivered once, after all elements, and needs no demand`() {
        var queue = DemandQueue<Int>()
        queue.append(1)
        queue.finish()
        #expect(take(&queue) == nil)
        queue.demand(1)
        #expect(take(&queue) == "1")
        #expect(take(&queue) == "finished")
        #expect(take(&queue) == nil)
    }
}
