import PluginHub

/// Where everything stands in the picture of a hub: pure geometry, the same for the same graph.
///
/// Plugins are boxes in columns. On the right side of a box is what it asks of others, what it sends and subscribes to; on
/// its left side what it offers, what it receives and publishes. So a line always runs between two columns, and what
/// nobody answers is a short end beside its box.
struct HubLayout {
    struct Box {
        let plugin: HubGraph.Plugin
        let left, top, width, height: Double
        var right: Double { left + width }
        var middle: Double { top + height / 2 }
    }

    /// An arrow of the graph as it is drawn.
    struct Line {
        let arrow: HubGraph.Arrow
        /// From the left end to the right one.
        let points: [Bend]
        let pointsLeft: Bool
        let label: Label
    }

    /// A stretch of a line at one height, from `start` to `end`.
    struct Bend {
        let start, end, height: Double
    }

    /// An arrow that does not reach another box.
    struct Stub {
        enum Shape { case open, loop }
        let arrow: HubGraph.Arrow
        let plugin: HubGraph.Plugin.ID
        let shape: Shape
        /// Where it meets its box.
        let x, y: Double
        let isRight: Bool
        let label: Label
    }

    struct Label {
        let text: String
        let x, y: Double
        let endsHere: Bool
    }

    let width, height: Double
    let boxes: [Box]
    let lines: [Line]
    let stubs: [Stub]

    /// Between the lines at one side of a box.
    static let portDistance = 24.0
    static let stubLength = 26.0
}

extension HubLayout {
    init(_ graph: HubGraph) {
        var plan = Plan(graph)
        plan.settleHeights()
        let columns = plan.columns()
        boxes = graph.plugins.map { plugin in
            let slot = LayerOrder.Slot.plugin(plugin.id)
            let column = columns[plan.layerOf[slot] ?? 0]
            let height = plan.height(of: slot)
            return Box(
                plugin: plugin, left: column.left, top: (plan.centre[slot] ?? 0) - height / 2, width: column.width,
                height: height)
        }
        lines = plan.lines(columns)
        stubs = plan.stubs(boxes)
        width = (columns.last?.outerRight ?? 0) + 8
        height = plan.totalHeight
    }

    /// What is said along an arrow, in few words.
    static func caption(_ arrow: HubGraph.Arrow) -> String {
        let first = shortened(arrow.messages.first ?? "", to: 30)
        return arrow.messages.count > 1 ? "\(first) +\(arrow.messages.count - 1)" : first
    }

    static func shortened(_ text: String, to limit: Int) -> String {
        text.count > limit ? text.prefix(limit - 1) + "…" : text
    }

    /// In columns of a fixed-width font; what is not Latin, Greek or Cyrillic takes two.
    static func columns(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + ($1.value > 0x1100 ? 2 : 1) } }

    static func captionWidth(_ arrow: HubGraph.Arrow) -> Double { Double(columns(caption(arrow))) * 6.7 }
}
