import HTTPCore

extension MockFloret {
    public func didRespond(_ record: Record) async -> Record {
        let request = state.withLock { $0.requestsToRecord.removeValue(forKey: record.id) }
        // A response that another floret set is not the server's.
        guard let request, mode == .record, folder != nil, record.timing.sent != nil,
            case .success(var response)? = record.result
        else { return record }
        guard let body = request.body.buffered, body.count <= configuration.maximumBodyBytes else {
            Interceptor.current?.report(
                .leftUnchanged, floret: name,
                "A request with a body of more than \(configuration.maximumBodyBytes) bytes was not recorded.")
            return record
        }
        var record = record
        let (interceptor, name, limit) = (Interceptor.current, name, configuration.maximumBodyBytes)
        // Writes the recording before the reader receives the end of the body.
        response.body = response.body.tapped(upTo: limit) { [self, record, response] bytes, transfer in
            guard transfer.end == .complete, !transfer.isCut else {
                let why = transfer.isCut ? "has more than \(limit) bytes" : "is incomplete"
                interceptor?.report(.leftUnchanged, floret: name, "An answer that \(why) was not recorded.")
                return
            }
            var whole = record
            (whole.originalRequest, whole.designatedRequest) = (request, request)
            whole.result = .success(Response(status: response.status, headers: response.headers, body: .bytes(bytes)))
            do {
                try write(whole)
            } catch {
                interceptor?.report(.leftUnchanged, floret: name, "\(error)")
            }
        }
        record.result = .success(response)
        return record
    }

    private func write(_ record: Record) throws {
        let redacted = configuration.redaction.redacted(record)
        guard let folder, let response = redacted.response else { return }
        let request = redacted.designatedRequest
        let name = MockFolder.name(for: request, configuration.matching)
        let earlier = folder.lastNumber(in: name)
        let number = state.withLock { state in
            let number = max(earlier, state.numbers[name] ?? 0) + 1
            state.numbers[name] = number
            return number
        }
        guard number <= configuration.maximumAnswers else {
            throw InterceptionError(
                .storageFailed,
                "An answer was not recorded, because \(name) already has \(configuration.maximumAnswers) recordings.")
        }
        let digits = String(number)
        let file = "\(name)/\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits).json"
        let recording = try folder.write(request, response, recorded: record.timing.answered, as: file)
        let key = configuration.key(of: recording.request)
        state.withLock { state in
            state.recordings[key, default: []].append(recording)
            state.counts.recorded += 1
        }
    }
}
