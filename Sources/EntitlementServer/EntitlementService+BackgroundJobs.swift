import Foundation
import Primitives
import StoreModel

extension EntitlementService {
    /// Creates the background jobs and registers the metrics of the webhooks and of the refund requests.
    static func jobs(_ configuration: Configuration, _ parts: Parts) async throws -> [BackgroundJob] {
        var jobs = [sweepJob(configuration, parts), eventRetentionJob(configuration, parts), erasureJob(parts)]
        let figures = FigureAggregator(database: configuration.database)
        jobs.append(BackgroundJob(name: figuresJob, pause: 1, isShared: true) { try await figures.step() })
        if configuration.database.dialect != .sqlite {
            jobs.append(idempotencyJob(configuration, parts))
            let sequencer = FeedSequencer(database: configuration.database, changes: parts.changes)
            // Other servers commit to this database without a signal here: the job polls.
            jobs.append(BackgroundJob(name: "feed", pause: 0.1, follows: .commits) { try await sequencer.step() })
        }
        if let standby = parts.ledger.standby {
            jobs.append(
                BackgroundJob(name: "standby", pause: Standby.pause) {
                    try await standby.update()
                    return false
                })
        }
        if let registry = parts.registry {
            jobs += ruleJobs(configuration, parts)
            jobs.append(
                BackgroundJob(name: "servers", pause: ServerRegistry.pause) {
                    try await registry.step()
                    return false
                })
        } else {
            jobs.append(replacedRulesJob(configuration, parts))
        }
        jobs += try await webhookJobs(configuration, parts)
        if let tracer = parts.tracer {
            jobs.append(BackgroundJob(name: "traces", pause: 1) { try await tracer.step() })
        }
        let refundDesk = parts.refundDesk
        jobs.append(
            BackgroundJob(name: "refunds", pause: 10, follows: .refundRequests, isShared: true) {
                try await refundDesk.step()
            })
        addRefundMetrics(refundDesk, parts)
        if let statusPoller = parts.statusPoller, !configuration.apps.allSatisfy(\.appStore.isEmpty) {
            jobs.append(
                BackgroundJob(name: "App Store", pause: 60, follows: .commits, isShared: true) {
                    try await statusPoller.step()
                })
        }
        return jobs + googlePlayJobs(configuration, parts)
    }

    /// Creates the jobs of Google Play, and registers the metrics of the acknowledgements.
    private static func googlePlayJobs(_ configuration: Configuration, _ parts: Parts) -> [BackgroundJob] {
        let acknowledger = parts.playAcknowledger
        func gauge(_ name: String, _ help: String, _ value: @escaping @Sendable (PlayAcknowledger.Waiting) -> Double) {
            parts.metrics.add(.init(name: name, help: help) { [("", value(try acknowledger.waiting()))] })
        }
        gauge(
            "souk_play_acknowledgements_pending",
            "Purchases of Google Play in the ledger that are not acknowledged yet."
        ) { Double($0.pending) }
        gauge(
            "souk_play_acknowledgements_urgent",
            "Purchases of Google Play that are not acknowledged yet and that Google refunds in less than a day."
        ) { Double($0.urgent) }
        gauge(
            "souk_play_acknowledgement_lag_seconds",
            "Time since the oldest purchase of Google Play that is not acknowledged came into the ledger."
        ) { $0.lag }
        guard !parts.playReaders.isEmpty, let statusPoller = parts.statusPoller else { return [] }
        let sweep = parts.voidedPurchaseSweep
        return [
            BackgroundJob(name: "Google Play acknowledgements", pause: 10, follows: .commits, isShared: true) {
                try await acknowledger.step()
            },
            BackgroundJob(name: "Google Play", pause: 60, follows: .commits, isShared: true) {
                try await statusPoller.stepGooglePlay()
            },
            BackgroundJob(name: "voided purchases", pause: 300, isShared: true) { try await sweep.step() },
        ]
    }

    /// The job runs every second of real time, so that it notices when the store's clock jumps.
    private static func sweepJob(_ configuration: Configuration, _ parts: Parts) -> BackgroundJob {
        let ledgerIDs = configuration.apps.flatMap { app in
            configuration.environments.map { LedgerID(app: app.bundleID, environment: $0) }
        }
        let sweeper = Sweeper(ledger: parts.ledger, ledgerIDs: ledgerIDs)
        return BackgroundJob(name: "sweeper", pause: 1, isShared: true) { try await sweeper.step() }
    }

    private static func eventRetentionJob(_ configuration: Configuration, _ parts: Parts) -> BackgroundJob {
        let (ledger, webhooks) = (parts.ledger, configuration.webhooks.map(\.id))
        let (batch, retention) = (500, configuration.eventRetention)
        return BackgroundJob(name: "event retention", pause: 60, isShared: true) {
            let oldest = ledger.clock.now().addingTimeInterval(-retention)
            return try await ledger.expireEvents(before: oldest, keptFor: webhooks, limit: batch) == batch
        }
    }

    /// Creates the jobs that load rules which another server activated, and that mark answers of former rules as
    /// expired.
    private static func ruleJobs(_ configuration: Configuration, _ parts: Parts) -> [BackgroundJob] {
        let (ledger, database) = (parts.ledger, configuration.database)
        let ledgerIDs = configuration.apps.flatMap { app in
            configuration.environments.map { LedgerID(app: app.bundleID, environment: $0) }
        }
        let progress = Locked<[LedgerID: (epoch: Int64?, last: String?)]>([:])
        return [
            BackgroundJob(name: "rules", pause: 1) {
                try await ledger.rules.refresh(from: database)
                return false
            },
            BackgroundJob(name: "answers of former rules", pause: 1, isShared: true) {
                for ledgerID in ledgerIDs {
                    let epoch = ledger.rules[ledgerID.app].epoch
                    let previous = progress.withLock { $0[ledgerID] }
                    let isSame = previous.map { $0.epoch == epoch } ?? false
                    guard let after = isSame ? previous?.last : "" else { continue }
                    let last = try await ledger.expireFormerAnswers(in: ledgerID, after: after)
                    progress.withLock { $0[ledgerID] = (epoch, last) }
                    return true
                }
                return false
            },
        ]
    }

    /// Creates the job that marks answers of rules that a reload replaced in a database that is not shared.
    private static func replacedRulesJob(_ configuration: Configuration, _ parts: Parts) -> BackgroundJob {
        let (ledger, apps) = (parts.ledger, configuration.apps.map(\.bundleID))
        return BackgroundJob(name: "answers of former rules", pause: 1) {
            for app in apps { if try await ledger.markFormerAnswers(of: app) { return true } }
            return false
        }
    }

    private static func idempotencyJob(_ configuration: Configuration, _ parts: Parts) -> BackgroundJob {
        BackgroundJob(name: "idempotency keys", pause: 60, isShared: true) {
            [ledger = parts.ledger, clock = configuration.realClock] in
            try await ledger.deleteExpiredKeys(at: clock.now())
        }
    }

    /// The job runs every second, because a reader of an older snapshot can block the purge for a moment or an hour.
    private static func erasureJob(_ parts: Parts) -> BackgroundJob {
        BackgroundJob(name: "erasure", pause: 1) { [ledger = parts.ledger] in
            try await ledger.purge()
            return false
        }
    }

    /// Creates the job of each webhook, and registers the metrics.
    private static func webhookJobs(_ configuration: Configuration, _ parts: Parts) async throws -> [BackgroundJob] {
        var queues: [DeliveryQueue] = []
        var batchQueues: [BatchQueue] = []
        var jobs: [BackgroundJob] = []
        for current in parts.webhooks {
            guard let transport = configuration.webhookTransport else { continue }
            let webhook = current.withLock(\.self)
            let step: @Sendable () async throws -> Bool
            if let size = webhook.batchSize {
                let queue = BatchQueue(
                    webhook: webhook.id, environments: configuration.environments, size: size,
                    database: configuration.database)
                try await queue.open()
                batchQueues.append(queue)
                let sender = BatchSender(
                    webhook: current, queue: queue, transport: transport, backoff: configuration.batchBackoff,
                    clock: configuration.realClock, storeClock: configuration.clock, random: configuration.random,
                    attempts: parts.metrics.webhookAttempts)
                step = { try await sender.step() }
            } else {
                let queue = DeliveryQueue(
                    webhook: webhook.id, environments: configuration.environments, database: configuration.database)
                try await queue.open()
                queues.append(queue)
                let sender = WebhookSender(
                    webhook: current, queue: queue, changes: parts.changes, transport: transport,
                    backoff: configuration.webhookBackoff,
                    clock: configuration.realClock, random: configuration.random,
                    attempts: parts.metrics.webhookAttempts)
                step = { try await sender.step() }
            }
            jobs.append(
                BackgroundJob(name: "webhook \(webhook.name)", pause: 1, follows: .commits, step: step))
        }
        addWebhookMetrics(queues, batchQueues, configuration, parts)
        return jobs
    }

    private static func addWebhookMetrics(
        _ queues: [DeliveryQueue], _ batchQueues: [BatchQueue], _ configuration: Configuration, _ parts: Parts
    ) {
        guard !queues.isEmpty || !batchQueues.isEmpty else { return }
        let (clock, storeClock) = (configuration.realClock, configuration.clock)
        @Sendable func lag(since oldest: Date?, at now: Date) -> TimeInterval {
            oldest.map { max(0, now.timeIntervalSince($0)) } ?? 0
        }
        parts.metrics.add(
            .init(
                name: "souk_webhook_lag_seconds", help: "Age of the oldest open delivery.",
                label: "webhook"
            ) {
                try queues.map { ($0.webhook.label, lag(since: try $0.oldestCreation(), at: clock.now())) }
                    + batchQueues.map { ($0.webhook.label, lag(since: try $0.oldestCreation(), at: storeClock.now())) }
            })
        parts.metrics.add(
            .init(
                name: "souk_webhook_dead_deliveries", help: "Dead deliveries.", label: "webhook"
            ) { try queues.map { ($0.webhook.label, Double(try $0.deadCount())) } })
    }

    private static func addRefundMetrics(_ desk: RefundDesk, _ parts: Parts) {
        parts.metrics.add(
            .init(
                name: "souk_refund_requests_pending", help: "Refund requests whose answer was not sent yet."
            ) { [("", Double(try desk.pendingCounts().pending))] })
        parts.metrics.add(
            .init(
                name: "souk_refund_requests_urgent",
                help: "Refund requests whose answer was not sent yet, less than two hours before the deadline."
            ) { [("", Double(try desk.pendingCounts().urgent))] })
    }
}

extension WebhookName {
    /// The value of the label `webhook` in metrics.
    fileprivate var label: String { "\(app)/\(name)" }
}
