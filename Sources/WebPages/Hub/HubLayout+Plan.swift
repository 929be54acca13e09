import PluginHub

extension HubLayout {
    /// The state of the layout algorithm.
    struct Plan {
        typealias Slot = LayerOrder.Slot
        typealias Pair = LayerOrder.Pair

        struct Column {
            let left, width: Double
            /// The right end of the captions beside the column.
            let captionsEnd: Double
            /// The left end of the stubs beside the column.
            let stubsBegin: Double
            var right: Double { left + width }
        }

        let graph: HubGraph
        let order: LayerOrder
        let layerOf: [Slot: Int]
        /// The arrows between two plugins, in drawing order.
        private var bundles: [Pair: [HubGraph.Arrow]] = [:]
        /// Arrows with a plugin at only one end, or with the same plugin at both ends.
        private var loose: [HubGraph.Plugin.ID: (left: [HubGraph.Arrow], right: [HubGraph.Arrow])] = [:]
        private var leftRoutes: [HubGraph.Plugin.ID: [Pair]] = [:]
        private var rightRoutes: [HubGraph.Plugin.ID: [Pair]] = [:]
        private let isolatedPlugins: Set<Slot>
        var centre: [Slot: Double] = [:]
        private(set) var totalHeight = 0.0

        init(_ graph: HubGraph) {
            self.graph = graph
            var calls: [(caller: Int, callee: Int)] = []
            var joined: [HubGraph.Arrow] = []
            for arrow in graph.arrows {
                let (caller, callee) = arrow.sides
                switch (caller, callee) {
                case (let caller?, let callee?) where caller != callee:
                    calls += arrow.messages.map { _ in (caller, callee) }
                    joined.append(arrow)
                case (let caller?, _): loose[caller, default: ([], [])].right.append(arrow)
                case (nil, let callee?): loose[callee, default: ([], [])].left.append(arrow)
                case (nil, nil): break
                }
            }
            order = LayerOrder(count: graph.plugins.count, calls: calls)
            layerOf = order.layers.enumerated().reduce(into: [:]) { result, layer in
                for slot in layer.element { result[slot] = layer.offset }
            }
            let pairs = Set(order.routes.map(\.pair))
            let connected = Set(pairs.flatMap { [$0.left, $0.right] })
            isolatedPlugins = Set(graph.plugins.filter { !connected.contains($0.id) }.map { .plugin($0.id) })
            for arrow in joined {
                guard let caller = arrow.sides.caller, let callee = arrow.sides.callee else { continue }
                let pair = Pair(left: caller, right: callee)
                bundles[pairs.contains(pair) ? pair : Pair(left: callee, right: caller), default: []].append(arrow)
            }
            for route in order.routes {
                rightRoutes[route.pair.left, default: []].append(route.pair)
                leftRoutes[route.pair.right, default: []].append(route.pair)
            }
        }

        private func looseEnds(_ plugin: HubGraph.Plugin.ID) -> (left: [HubGraph.Arrow], right: [HubGraph.Arrow]) {
            loose[plugin] ?? ([], [])
        }

        private func portCounts(_ plugin: HubGraph.Plugin.ID) -> (left: Int, right: Int) {
            func ports(_ routes: [Pair]?) -> Int { (routes ?? []).reduce(0) { $0 + (bundles[$1]?.count ?? 0) } }
            let ends = looseEnds(plugin)
            return (ports(leftRoutes[plugin]) + ends.left.count, ports(rightRoutes[plugin]) + ends.right.count)
        }

        func height(of slot: Slot) -> Double {
            switch slot {
            case .plugin(let plugin):
                let ports = portCounts(plugin)
                return max(52, Double(max(ports.left, ports.right)) * HubLayout.portDistance + 20)
            case .passage(let pair, _): return Double(bundles[pair]?.count ?? 1) * HubLayout.portDistance
            }
        }
    }
}

extension HubLayout.Plan {
    // MARK: - Vertical positions

    /// Moves every slot towards the middle of its neighbours, within the order of its column.
    mutating func computePositions() {
        for layer in order.layers { place(layer, targets: [:]) }
        var neighbours: [Slot: (left: [Slot], right: [Slot])] = [:]
        for route in order.routes {
            for (left, right) in zip(route.slots, route.slots.dropFirst()) {
                neighbours[left, default: ([], [])].right.append(right)
                neighbours[right, default: ([], [])].left.append(left)
            }
        }
        for sweep in 0..<12 {
            let goesRight = sweep.isMultiple(of: 2)
            for layer in goesRight ? order.layers : order.layers.reversed() {
                var targets: [Slot: Double] = [:]
                for slot in layer {
                    guard let sides = neighbours[slot] else { continue }
                    let near = sweep > 9 ? sides.left + sides.right : goesRight ? sides.left : sides.right
                    let centres = near.compactMap { centre[$0] }
                    if !centres.isEmpty { targets[slot] = centres.reduce(0, +) / Double(centres.count) }
                }
                place(layer, targets: targets)
            }
        }
        let top = centre.map { $0.value - height(of: $0.key) / 2 }.min() ?? 0
        let bottom = centre.map { $0.value + height(of: $0.key) / 2 }.max() ?? 0
        for slot in centre.keys { centre[slot]? -= top - 14 }
        totalHeight = bottom - top + 28
    }

    /// Places the slots of one column as close to their target positions as their order permits, by isotonic regression
    /// with the pool-adjacent-violators algorithm. Plugins without lines have no target and follow the slot above them.
    private mutating func place(_ layer: [Slot], targets: [Slot: Double]) {
        var offsets: [Double] = []
        var offset = 0.0
        for (index, slot) in layer.enumerated() {
            if index > 0 {
                offset += (height(of: layer[index - 1]) + height(of: slot)) / 2 + gap(layer[index - 1], slot)
            }
            offsets.append(offset)
        }
        let connected = layer.prefix { !isolatedPlugins.contains($0) }
        var pools: [(sum: Double, count: Double)] = []
        for (index, slot) in connected.enumerated() {
            let target = targets[slot] ?? centre[slot] ?? offsets[index] - offset / 2
            pools.append((target - offsets[index], 1))
            while pools.count > 1, let last = pools.last {
                let before = pools[pools.count - 2]
                guard before.sum / before.count > last.sum / last.count else { break }
                pools.removeLast(2)
                pools.append((before.sum + last.sum, before.count + last.count))
            }
        }
        var index = 0
        for pool in pools {
            for _ in 0..<Int(pool.count) {
                centre[layer[index]] = pool.sum / pool.count + offsets[index]
                index += 1
            }
        }
        for index in connected.count..<layer.count {
            let above = index == 0 ? nil : centre[layer[index - 1]].map { $0 - offsets[index - 1] }
            centre[layer[index]] = (above ?? -offset / 2) + offsets[index]
        }
    }

    private func gap(_ upper: Slot, _ lower: Slot) -> Double {
        if case .plugin = upper, case .plugin = lower { 30 } else { 16 }
    }

    // MARK: - Columns

    /// The width between two columns in which lines bend.
    private static let bendWidth = 76.0

    /// The columns. Each is as wide as its widest box, and the captions determine the distances.
    func columns() -> [Column] {
        var columns: [Column] = []
        var edge = 8.0
        for layer in order.layers {
            var captions = 0.0
            var stubs = 0.0
            var width = 128.0
            for case .plugin(let plugin) in layer {
                let name = HubLayout.shortened(graph.plugins[plugin].label, to: 26)
                width = max(width, Double(HubLayout.textColumns(name)) * 8.6 + 40)
                let ends = looseEnds(plugin)
                let shared = (rightRoutes[plugin] ?? []).flatMap { bundles[$0] ?? [] }
                captions = (shared.map { HubLayout.captionWidth($0) + 24 } + [captions]).max() ?? 0
                let stubWidth = HubLayout.stubLength + 12
                captions = (ends.right.map { HubLayout.captionWidth($0) + stubWidth } + [captions]).max() ?? 0
                stubs = (ends.left.map { HubLayout.captionWidth($0) + stubWidth } + [stubs]).max() ?? 0
            }
            let left = edge + (columns.isEmpty ? 0 : Self.bendWidth) + max(stubs, columns.isEmpty ? 0 : 16)
            let column = Column(
                left: left, width: width, captionsEnd: left + width + captions,
                stubsBegin: left - max(stubs, columns.isEmpty ? 0 : 16))
            columns.append(column)
            edge = column.captionsEnd
        }
        return columns
    }

    // MARK: - Lines

    /// The arrows on one side of a plugin from top to bottom: connections in the order of their targets, then loose
    /// ends.
    private func ports(of plugin: HubGraph.Plugin.ID, onRight isRight: Bool) -> [Port] {
        let routes = order.routes.filter { (isRight ? $0.pair.left : $0.pair.right) == plugin }
        let sorted = routes.map { route in
            (centre[isRight ? route.slots[1] : route.slots[route.slots.count - 2]] ?? 0, route.pair)
        }.sorted { ($0.0, $0.1.left, $0.1.right) < ($1.0, $1.1.left, $1.1.right) }
        let ends = looseEnds(plugin)
        return sorted.flatMap { _, pair in (bundles[pair] ?? []).indices.map { Port.shared(pair, $0) } }
            + (isRight ? ends.right : ends.left).map(Port.loose)
    }

    private enum Port: Hashable {
        case shared(Pair, Int)
        case loose(HubGraph.Arrow)
    }

    /// The vertical position of each port on one side of a plugin.
    private func portPositions(of plugin: HubGraph.Plugin.ID, onRight isRight: Bool) -> [Port: Double] {
        let ports = ports(of: plugin, onRight: isRight)
        let middle = centre[.plugin(plugin)] ?? 0
        return Dictionary(
            uniqueKeysWithValues: ports.enumerated().map { index, port in
                (port, middle + (Double(index) - Double(ports.count - 1) / 2) * HubLayout.portDistance)
            })
    }

    func lines(_ columns: [Column]) -> [HubLayout.Line] {
        let rightPositions = graph.plugins.map { portPositions(of: $0.id, onRight: true) }
        let leftPositions = graph.plugins.map { portPositions(of: $0.id, onRight: false) }
        return order.routes.flatMap { route in
            (bundles[route.pair] ?? []).enumerated().map { index, arrow in
                let port = Port.shared(route.pair, index)
                let count = Double(bundles[route.pair]?.count ?? 1)
                let segments = route.slots.map { slot -> HubLayout.Segment in
                    let column = columns[layerOf[slot] ?? 0]
                    switch slot {
                    case .plugin(route.pair.left):
                        let y = rightPositions[route.pair.left][port] ?? 0
                        return HubLayout.Segment(start: column.right, end: column.captionsEnd, y: y)
                    case .plugin:
                        let y = leftPositions[route.pair.right][port] ?? 0
                        return HubLayout.Segment(start: column.stubsBegin, end: column.left, y: y)
                    case .passage:
                        let y = (centre[slot] ?? 0) + (Double(index) - (count - 1) / 2) * HubLayout.portDistance
                        return HubLayout.Segment(start: column.stubsBegin, end: column.captionsEnd, y: y)
                    }
                }
                let first = segments[0]
                return HubLayout.Line(
                    arrow: arrow, segments: segments, pointsLeft: arrow.to == route.pair.left,
                    label: HubLayout.Label(
                        text: HubLayout.caption(arrow), x: first.start + 15, y: first.y - 5, endsHere: false))
            }
        }
    }

    func stubs(_ boxes: [HubLayout.Box]) -> [HubLayout.Stub] {
        graph.plugins.flatMap { plugin -> [HubLayout.Stub] in
            [true, false].flatMap { isRight -> [HubLayout.Stub] in
                let positions = portPositions(of: plugin.id, onRight: isRight)
                let ends = looseEnds(plugin.id)
                return (isRight ? ends.right : ends.left).map { arrow in
                    let x = isRight ? boxes[plugin.id].right : boxes[plugin.id].left
                    let y = positions[.loose(arrow)] ?? 0
                    let away = HubLayout.stubLength + 10
                    return HubLayout.Stub(
                        arrow: arrow, plugin: plugin.id, shape: arrow.from == arrow.to ? .loop : .open, x: x, y: y,
                        isRight: isRight,
                        label: HubLayout.Label(
                            text: HubLayout.caption(arrow), x: x + (isRight ? away : -away), y: y + 4,
                            endsHere: !isRight))
                }
            }
        }
    }
}

extension HubGraph.Arrow {
    /// The caller and the callee of the arrow. The callee of an event is its publisher.
    var sides: (caller: HubGraph.Plugin.ID?, callee: HubGraph.Plugin.ID?) {
        kind == .event ? (to, from) : (from, to)
    }
}
