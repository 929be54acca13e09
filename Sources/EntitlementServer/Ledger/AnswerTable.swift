/// A hash table of answers by customer. It is faster than a dictionary: a lookup reads one cache line here and the
/// answer itself. A dictionary reads one for its map, one for the key and one for the value.
///
/// It uses linear probing, and a removal leaves no gap. Slots keep 32 bits of the hash, so a lookup compares the
/// customer too.
struct AnswerTable {
    private struct Slot {
        let hash: UInt32
        var wasRead = false
        var answer: PackedAnswer
    }

    /// The slots: a power of two, of which at least a quarter is free.
    private var slots = [Slot?](repeating: nil, count: 8)
    private(set) var count = 0

    /// The number of slots.
    var capacity: Int { slots.count }

    private var mask: Int { slots.count - 1 }

    /// Returns the slot of a key with this hash. It is valid until the next insertion or removal.
    func place(of key: CustomerKey, _ hash: Int) -> Int? {
        let bits = Self.storedBits(of: hash)
        var place = Int(bits) & mask
        while let slot = slots[place] {
            if slot.hash == bits, slot.answer.isOf(key) { return place }
            place = (place + 1) & mask
        }
        return nil
    }

    /// The answer in a slot, if any. Setting an empty slot does nothing.
    subscript(place: Int) -> PackedAnswer? {
        get { slots[place]?.answer }
        set {
            if let newValue { slots[place]?.answer = newValue }
        }
    }

    /// Returns whether the answer was read since the last pass of evictions.
    func wasRead(at place: Int) -> Bool { slots[place]?.wasRead ?? false }

    mutating func setRead(_ wasRead: Bool, at place: Int) { slots[place]?.wasRead = wasRead }

    /// Inserts the answer of a customer that has none here.
    mutating func insert(_ answer: PackedAnswer, _ hash: Int) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        put(Slot(hash: Self.storedBits(of: hash), answer: answer))
        count += 1
    }

    /// Removes an answer. Another one may move into its slot.
    mutating func remove(at place: Int) {
        guard slots[place] != nil else { return }
        var (free, next) = (place, place)
        while true {
            next = (next + 1) & mask
            guard let slot = slots[next] else { break }
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

    private static func storedBits(of hash: Int) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }
}
