import NetworkInterception

func recording() throws -> Interceptor {
    var configuration = Interceptor.Configuration.standard
    configuration.storage = try SQLiteRecordStorage(
        path: "records.sqlite", capacity: RecordCapacity(records: 10_000, bytes: 256 << 20, age: .seconds(86_400)))
    return Interceptor([], configuration: configuration)
}
