import NetworkInterception

func careful() -> Interceptor.Configuration {
    var configuration = Interceptor.Configuration.standard
    configuration.redaction = .standard.adding(
        headers: ["X-Till"], queryItems: ["invite"], members: ["ssn"], pointers: ["/card/number"])
    configuration.preStorageRecordModifier = { record in
        var record = record
        if record.designatedRequest.path == "/v1/passport" { record.designatedRequest.body = .empty }
        return record
    }
    return configuration
}
