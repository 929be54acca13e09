import Foundation
import StoreModel

/// An answer and whose it is, as one piece of memory.
///
/// Of a million answers none is near a processor, and a read waits for each piece it looks at: as values with names, tag
/// and bytes of their own they were five. So this refers to nothing, and what is asked for is copied out of it.
///
/// Sendable: its memory is never written again once it is made.
struct PackedAnswer: @unchecked Sendable {
    private struct Head {
        let revision: Int64
        let validFrom: Date
        let validUntil: Date?
        /// How many bytes each part has: customer, app, environment, tag, answer, which lie behind one another.
        let counts: (customer: Int32, app: Int32, environment: Int32, tag: Int32, answer: Int32)
    }

    private let memory: ManagedBuffer<Head, UInt8>

    init(_ answer: StoredAnswer, of key: CustomerKey) {
        let (customer, app, environment) = (
            key.customer.rawValue, key.ledgerID.app.rawValue, key.ledgerID.environment.rawValue
        )
        let texts = [customer, app, environment, answer.etag]
        let count = texts.reduce(answer.bytes.count) { $0 + $1.utf8.count }
        memory = .create(minimumCapacity: count) { _ in
            Head(
                revision: answer.revision, validFrom: answer.validFrom, validUntil: answer.validUntil,
                counts: (
                    Int32(customer.utf8.count), Int32(app.utf8.count), Int32(environment.utf8.count),
                    Int32(answer.etag.utf8.count), Int32(answer.bytes.count)
                ))
        }
        memory.withUnsafeMutablePointerToElements { start in
            var next = start
            for text in texts {
                for byte in text.utf8 {
                    next.initialize(to: byte)
                    next += 1
                }
            }
            answer.bytes.withUnsafeBufferPointer { bytes in
                if let first = bytes.baseAddress { next.initialize(from: first, count: bytes.count) }
            }
        }
    }

    func isOf(_ key: CustomerKey) -> Bool {
        memory.withUnsafeMutablePointers { head, start in
            var next = UnsafePointer(start)
            let counts = head.pointee.counts
            return Self.skip(key.customer.rawValue, counts.customer, &next)
                && Self.skip(key.ledgerID.app.rawValue, counts.app, &next)
                && Self.skip(key.ledgerID.environment.rawValue, counts.environment, &next)
        }
    }

    /// Whether the next `count` bytes are this text.
    private static func skip(_ text: String, _ count: Int32, _ next: inout UnsafePointer<UInt8>) -> Bool {
        defer { next += Int(count) }
        var text = text
        return text.withUTF8 { $0.elementsEqual(UnsafeBufferPointer(start: next, count: Int(count))) }
    }

    /// How many bytes are sent.
    var count: Int { Int(memory.header.counts.answer) }

    var answer: StoredAnswer {
        memory.withUnsafeMutablePointers { head, start in
            let counts = head.pointee.counts
            let tag = start + Int(counts.customer + counts.app + counts.environment)
            return StoredAnswer(
                revision: head.pointee.revision,
                bytes: Array(UnsafeBufferPointer(start: tag + Int(counts.tag), count: Int(counts.answer))),
                etag: String(decoding: UnsafeBufferPointer(start: tag, count: Int(counts.tag)), as: UTF8.self),
                validFrom: head.pointee.validFrom, validUntil: head.pointee.validUntil)
        }
    }

    /// Whether `answer` of the same customer was computed after this one.
    func isOlder(than answer: StoredAnswer) -> Bool {
        (memory.header.revision, memory.header.validFrom) < (answer.revision, answer.validFrom)
    }
}
