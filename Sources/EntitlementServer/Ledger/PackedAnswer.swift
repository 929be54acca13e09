import Foundation
import StoreModel

/// An answer and its customer in one block of memory.
///
/// Of a million answers, hardly any is in the processor's cache, so a read waits for each block of memory. With
/// separate values for names, tag and bytes, an answer would have five blocks. So this type has one block without
/// references, and a read copies the part that it needs.
///
/// It is `Sendable` because its memory is never written after its creation.
struct PackedAnswer: @unchecked Sendable {
    private struct Head {
        let revision: Int64
        let validFrom: Date
        let validUntil: Date?
        /// The lengths of the parts in bytes, in the order of the parts: customer, app, environment, tag, answer.
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

    /// Returns whether the next `count` bytes are this string, and moves `next` past them.
    private static func skip(_ text: String, _ count: Int32, _ next: inout UnsafePointer<UInt8>) -> Bool {
        defer { next += Int(count) }
        var text = text
        return text.withUTF8 { text in
            guard text.count == Int(count), let first = text.baseAddress else { return count == 0 && text.isEmpty }
            return memcmp(first, next, text.count) == 0
        }
    }

    /// The length of the answer in bytes.
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

    /// Returns whether `answer` of the same customer is newer.
    func isOlder(than answer: StoredAnswer) -> Bool {
        (memory.header.revision, memory.header.validFrom) < (answer.revision, answer.validFrom)
    }
}
