/// Answers by whose they are. To look for one takes a line of memory here and the answer itself: a dictionary takes one
/// for its map, one for the key and one for the value.
///
/// Linear probing; what is removed leaves no gap. The hash is cut to 32 bits, so who looks compares with the answer.
struct AnswerTable {
    private struct Slot {
        let hash: UInt32
        var isWanted = false
        var answer: PackedAnswer
    }

    /// A power of two; at least a quarter is free.
    private var slots = [Slot?](repeating: nil, count: 8)
    private(set) var count = 0

    /// Places are below this.
    var capacity: Int { slots.count }

    private var mask: Int { slots.count - 1 }

    /// Where the answer of `key`, whose hash this is, lies until something is inserted or removed.
    func place(of key: CustomerKey, _ hash: Int) -> Int? {
        let cut = Self.cut(hash)
        var place = Int(cut) & mask
        while let slot = slots[place] {
            if slot.hash == cut, slot.answer.isOf(key) { return place }
            place = (place + 1) & mask
        }
        return nil
    }

    /// The answer at a place, `nil` where there is none. To put one where there is none does nothing.
    subscript(place: Int) -> PackedAnswer? {
        get { slots[place]?.answer }
        set {
            if let newValue { slots[place]?.answer = newValue }
        }
    }

    /// Whether somebody asked for the answer at this place.
    func isWanted(at place: Int) -> Bool { slots[place]?.isWanted ?? false }

    mutating func setWanted(_ isWanted: Bool, at place: Int) { slots[place]?.isWanted = isWanted }

    /// Adds an answer of somebody who has none here.
    mutating func insert(_ answer: PackedAnswer, _ hash: Int) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        put(Slot(hash: Self.cut(hash), answer: answer))
        count += 1
    }

    /// Forgets the answer at this place, where another may lie afterwards.
    mutating func remove(at place: Int) {
        guard slots[place] != nil else { return }
        var (free, next) = (place, place)
        while true {
            next = (next + 1) & mask
            guard let slot = slots[next] else { break }
            // It may come nearer to where it belongs, and not before that.
            if (next - Int(slot.hash)) & mask >= (next - free) & mask {
                slots[free] = slot
                free = next
            }
        }
        slots[free] = nil
        count -= 1
    }

    private mutating func put(_ slot: Slot) {
        var place = Int(slot.hash) & mask
        while slots[place] != nil { place = (place + 1) & mask }
        slots[place] = slot
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot?](repeating: nil, count: old.count * 2)
        for case let slot? in old { put(slot) }
    }

    private static func cut(_ hash: Int) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }
}
