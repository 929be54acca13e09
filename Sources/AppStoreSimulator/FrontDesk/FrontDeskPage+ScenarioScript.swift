extension FrontDeskPage {
    /// The script that runs a scenario file and shows the result of each step.
    static let scenarioScript: StaticString = #"""
        const largestScenario = 1 << 20;
        const sides = [["same", " "], ["expected", "-"], ["actual", "+"]];
        const differenceOf = (difference) => make("div", { class: "difference" },
          make("p", {}, difference.subject + " at ", make("code", {}, difference.pointer || "/")),
          make("pre", { tabindex: "0", "aria-label": "Difference of " + difference.subject + ": - is expected, + is actual" }, ...sides.flatMap(([side, mark]) => difference[side].map((line) =>
            make("span", { class: side }, mark + " " + line + "\n")))));

        const stepOf = (step, number, isFirst) => {
          const result = step.skipped ? ["not run", ""] : step.ok ? ["ok", "good"] : ["differs", "bad"];
          const head = [pill(...result), " " + number + ". " + step.title + (step.note ? " (" + step.note + ")" : "")];
          if (!step.differences) return make("li", {}, ...head);
          return make("li", {}, make("details", { open: isFirst }, make("summary", {}, ...head), ...step.differences.map(differenceOf)));
        };

        const drawReport = (found) => {
          const first = found.steps.findIndex((step) => step.differences), seconds = found.seconds.toFixed(3);
          fill($("scenario-report"), [
            make("h3", {}, pill(found.ok ? "as expected" : "differs", found.ok ? "good" : "bad"), " " + found.name),
            make("p", { class: "soft" }, plural(found.steps.length, "step") + " in " + seconds + " s"),
            make("ol", { class: "steps" }, ...found.steps.map((step, number) => stepOf(step, number + 1, number === first)))]);
          $("scenario-report").focus({ preventScroll: true });
        };

        $("run-scenario").addEventListener("submit", async (event) => {
          event.preventDefault();
          const file = $("scenario-file").files[0], line = ["souk", "scenario", "run", quoted(file.name)].join(" ");
          const fault = (text) => { fill($("scenario-report"), []); report(text, line, true); };
          if (file.size > largestScenario) { fault("The file is larger than " + largestScenario.toLocaleString("en") + " bytes, the most that a scenario can have."); return; }
          const result = await perform({ call: ["POST", path("scenarios", "run"), await file.text()], command: line, after: drawReport,
            done: (found) => found.ok ? "All steps had the expected results." : "Some results differ from those that the scenario expects." });
          if (result instanceof Problem) fill($("scenario-report"), []);
        });

        """#
}
