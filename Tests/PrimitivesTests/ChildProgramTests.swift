import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.timeLimit(.minutes(1))) struct ChildProgramTests {
    /// Runs a shell command to its end.
    private func shell(
        _ line: String, environment: [String: String] = [:], in folder: String? = nil,
        input: ChildProgram.Stream = .null
    ) async throws -> ChildProgram.Outcome {
        try await ChildProgram.run("/bin/sh", ["-c", line], environment: environment, in: folder, input: input)
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("child-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.resolvingSymlinksInPath().path)
    }

    // MARK: - The end

    @Test func `the status is the exit code, or 128 plus the signal that ended the program`() async throws {
        #expect(try await shell("exit 0").status == 0)
        #expect(try await shell("exit 7").status == 7)
        #expect(try await shell("exit 255").status == 255)
        #expect(try await shell("kill -KILL $$").status == 128 + SIGKILL)
        #expect(try await shell("kill -TERM $$").status == 128 + SIGTERM)
    }

    @Test func `all current and later callers get the status`() async throws {
        let child = try ChildProgram("/bin/cat", input: .captured)
        #expect(child.isRunning)
        async let one = child.end()
        async let other = child.end()
        child.closeInput()
        #expect(await [one, other] == [0, 0])
        #expect(await child.end() == 0)
        #expect(!child.isRunning)
    }

    @Test func `a signal after the end has no effect`() async throws {
        let child = try ChildProgram("/bin/sh", ["-c", "exit 3"])
        #expect(await child.end() == 3)
        child.terminate()
        #expect(await child.end() == 3)
    }

    @Test func `a child that never ends is killed when its object is released`() async throws {
        let processID: Int32
        do {
            let child = try ChildProgram(
                "/bin/sh", ["-c", "trap '' TERM; echo ready; exec sleep 600"], output: .captured, errors: .null)
            processID = child.processID
            #expect(await child.output.firstLine() == "ready")
            #expect(kill(processID, 0) == 0)
        }
        try await until("the child is gone") { kill(processID, 0) != 0 && errno == ESRCH }
    }

    @Test func `a cancelled caller stops waiting for the end of a child`() async throws {
        let child = try ChildProgram("/bin/sleep", ["600"], errors: .null)
        let waiting = Task { await child.end() }
        waiting.cancel()
        #expect(await waiting.value == -1)
        #expect(child.isRunning)
    }

    @Test func `the start of a program that cannot run throws an error`() async throws {
        #expect { try ChildProgram("/nowhere/program") } throws: { ($0 as? POSIXError)?.code == .ENOENT }
        #expect { try ChildProgram("/etc/passwd") } throws: { ($0 as? POSIXError)?.code == .EACCES }
        #expect { try ChildProgram("/bin/sh", in: "/nowhere") } throws: { ($0 as? POSIXError)?.code == .ENOENT }
        #expect { try ChildProgram("/bin/cat", input: .file("/nowhere/input")) } throws: {
            ($0 as? POSIXError)?.code == .ENOENT
        }
    }

    // MARK: - Its streams

    @Test func `standard output and standard error are kept apart`() async throws {
        let outcome = try await shell("echo one; echo two >&2; printf three")
        #expect(outcome.output == "one\nthree" && outcome.errors == "two\n")
        #expect(try await shell("printf '{\"a\":1}'").json == ["a": 1])
    }

    @Test func `input and output that are larger than the buffer of a pipe pass unchanged`() async throws {
        let text = (0..<200_000).map { "\($0)\n" }.joined()
        #expect(try await ChildProgram.run("/bin/cat", input: .text(text)).output == text)
    }

    @Test func `input can be any bytes`() async throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await withFolder { folder in
            let child = try ChildProgram("/bin/cat", input: .bytes(bytes), output: .file("\(folder)/copy"))
            #expect(await child.end() == 0)
            #expect(FileManager.default.contents(atPath: "\(folder)/copy").map(Array.init) == bytes)
        }
    }

    @Test func `input that a child does not read has no effect`() async throws {
        let text = String(repeating: "x", count: 1 << 20)
        #expect(try await shell("exit 5", input: .text(text)).status == 5)
        let child = try ChildProgram(
            "/bin/sh", ["-c", "exec <&-; echo closed; exec sleep 600"], input: .captured, output: .captured,
            errors: .null)
        #expect(await child.output.firstLine() == "closed")
        await child.write(text)
        child.terminate()
        #expect(await child.end() == 128 + SIGTERM)
    }

    @Test func `a conversation goes back and forth until the input is closed`() async throws {
        let child = try ChildProgram("/bin/cat", input: .captured, output: .captured)
        await child.write("one\n")
        #expect(await child.output.firstLine() == "one")
        #expect(child.isRunning)
        await child.write("two")
        #expect(await child.output.contains("ne\ntw"))
        child.closeInput()
        #expect(await child.output.text() == "one\ntwo")
        #expect(await !child.output.contains("three"))
        #expect(await child.end() == 0)
        await child.write("nothing")
    }

    @Test func `a stream without a line feed has no first line`() async throws {
        let child = try ChildProgram("/bin/sh", ["-c", "printf half"], output: .captured)
        #expect(await child.output.firstLine() == nil)
        #expect(await child.output.text() == "half")
        #expect(await child.errors.text().isEmpty)
    }

    @Test func `a child reads its input from a file, and writes its output to a file`() async throws {
        try await withFolder { folder in
            let (from, to) = ("\(folder)/from", "\(folder)/to")
            try Data("text".utf8).write(to: URL(fileURLWithPath: from))
            try Data("longer, from before".utf8).write(to: URL(fileURLWithPath: to))
            let child = try ChildProgram("/bin/cat", input: .file(from), output: .file(to))
            #expect(await child.end() == 0)
            #expect(try String(contentsOfFile: to, encoding: .utf8) == "text")
        }
    }

    // MARK: - Inherited state

    @Test func `a child has this process's environment with additions, and the given folder`() async throws {
        let key = "SOUK_CHILD_\(UUID().uuidString.prefix(8))"
        let outcome = try await shell("printf %s \"$\(key):$PATH\"", environment: [key: "a b=c"])
        #expect(outcome.output == "a b=c:" + (ProcessInfo.processInfo.environment["PATH"] ?? ""))
        #expect(try await shell("printf %s \"$PATH\"", environment: ["PATH": "/only"]).output == "/only")
        try await withFolder { folder in
            let outcome = try await shell("pwd -P", in: folder)
            #expect(outcome.output == folder + "\n")
        }
    }

    @Test func `no file of this process is open in a child`() async throws {
        let number: Int32 = 700
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        // Without FD_CLOEXEC, as some libraries open files.
        try #require(dup2(file, number) == number && fcntl(number, F_GETFD) == 0)
        defer { close(number) }
        let streams: [ChildProgram.Stream] = [.captured, .null, .text("x"), .inherited]
        for input in streams {
            let line = "for number in 0 1 2 700; do [ ! -e /dev/fd/$number ] || echo $number; done; ls /dev/fd | wc -l"
            let child = try ChildProgram("/bin/sh", ["-c", line], input: input, output: .captured, errors: .captured)
            let text = await child.output.text()
            #expect(text.split(whereSeparator: \.isWhitespace) == ["0", "1", "2", "4"], "\(input)")
        }
    }

    @Test func `SIGTERM reaches a child that was started from a thread which blocks signals`() async throws {
        let started = Broadcast<ChildProgram?>(replaysLast: true)
        Thread.detachNewThread {
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_SETMASK, &all, nil)
            started.send(
                try? ChildProgram("/bin/sh", ["-c", "echo ready; exec sleep 600"], output: .captured, errors: .null))
        }
        for await child in started.stream() {
            let child = try #require(child)
            #expect(await child.output.firstLine() == "ready")
            child.terminate()
            #expect(await child.end() == 128 + SIGTERM)
            return
        }
    }

    // MARK: - In a process of their own, because they change the whole process

    @Test func `a signal that this process ignores is not ignored by a child`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGUSR1, SIG_IGN)
            let outcome = try await ChildProgram.run("/bin/sh", ["-c", "kill -USR1 $$; exit 0"])
            exit(outcome.status == 128 + SIGUSR1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func `three thousand open files do not prevent the start of a child`() async {
        await #expect(processExitsWith: .success) {
            let files = (0..<3000).map { _ in open("/dev/null", O_RDONLY) }
            guard files.allSatisfy({ $0 >= 0 }) else { exit(EXIT_SUCCESS) }
            let outcome = try await ChildProgram.run(
                "/bin/sh", ["-c", "cat; ls /dev/fd | wc -l; exit 9"], input: .text("told "))
            let words = outcome.output.split(whereSeparator: \.isWhitespace)
            exit(outcome.status == 9 && words == ["told", "4"] ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func `a process without standard streams starts programs that have them`() async {
        await #expect(processExitsWith: .success) {
            for number: Int32 in 0...2 { close(number) }
            for (input, expected) in [(ChildProgram.Stream.null, ""), (.text("one"), "one")] {
                let outcome = try await ChildProgram.run("/bin/sh", ["-c", "cat; echo two >&2"], input: input)
                guard outcome.output == expected, outcome.errors == "two\n" else { exit(EXIT_FAILURE) }
            }
            exit(EXIT_SUCCESS)
        }
    }
}
