import PluginHub

/// The positions of all elements in the picture of a hub. They depend only on the graph.
///
/// Plugins are boxes in columns. The right side of a box has the messages that the plugin sends and the events that it
/// subscribes to. The left side has the messages that it receives and the events that it publishes. Where plugins call
/// each other in a cycle, some lines have the opposite direction. A message without a counterpart, or to its own
/// sender, is a short line at its box.
struct HubLayout {
    struct Box {
        let plugin: HubGraph.Plugin
        let left, top, width, height: Double
        var right: Double { left + width }
        var middle: Double { top + height / 2 }
    }

    /// A line for an arrow of the graph.
    struct Line {
        let arrow: HubGraph.Arrow
        /// The horizontal parts, from left to right.
        let segments: [Segment]
        let pointsLeft: Bool
        let label: Label
    }

    /// A horizontal part of a line, from `start` to `end`.
    struct Segment {
        let start, end, y: Double
    }

    /// A short line for an arrow that does not reach another box.
    struct Stub {
        enum Shape { case open, loop }
        let arrow: HubGraph.Arrow
        let plugin: HubGraph.Plugin.ID
        let shape: Shape
        /// The point at the edge of the box.
        let x, y: Double
        let isRight: Bool
        let label: Label
    }

    struct Label {
        let text: String
        let x, y: Double
        /// Whether the text ends at `x` instead of beginning there.
        let endsHere: Bool
    }

    let width, height: Double
    let boxes: [Box]
    let lines: [Line]
    let stubs: [Stub]

    /// The distance between two lines at one side of a box.
    static let portDistance = 24.0
    static let stubLength = 26.0
}

extension HubLayout {
    init(_ graph: HubGraph) {
        var plan = Plan(graph)
        plan.computePositions()
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
        width = (columns.last?.captionsEnd ?? 0) + 8
        height = plan.totalHeight
    }

    /// The caption of an arrow: its first message, and the number of others.
    static func caption(_ arrow: HubGraph.Arrow) -> String {
        let first = shortened(arrow.messages.first ?? "", to: 30)
        return arrow.messages.count > 1 ? "\(first) +\(arrow.messages.count - 1)" : first
    }

    static func shortened(_ text: String, to limit: Int) -> String {
        text.count > limit ? text.prefix(limit - 1) + "…" : text
    }

    /// The width in columns of a fixed-width font. Characters after U+1100, such as Chinese ones, take two columns.
    static func textColumns(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + ($1.value > 0x1100 ? 2 : 1) }
    }

    static func captionWidth(_ arrow: HubGraph.Arrow) -> Double { Double(textColumns(caption(arrow))) * 6.7 }
}
