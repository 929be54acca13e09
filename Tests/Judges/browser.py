"""Chromium as a judge of the pages Souk makes: does what a person would do and says what there was to see.

Reads one JSON object on standard input:
    {"url": "file:///…", "width": 1200, "height": 800, "scheme": "light",
     "steps": [{"click": "css"}, {"press": "Enter"}, {"fill": "css", "with": "text"}, {"focus": "css"}, {"back": true},
               {"text": "css"}, {"visible": "css"}, {"count": "css"}, {"attribute": "css", "name": "href"},
               {"focused": true}, {"evaluate": "javascript expression"}, {"until": "javascript expression"}, {"axe": true},
               {"scripting": true}, {"screenshot": "path"}]}
"until" waits for something to be true; "axe" answers what the accessibility engine axe-core finds wrong, "scripting" how
many milliseconds scripts, layout and style have taken so far. A selector takes the first visible element it matches, or the first of all where none is visible. Prints one JSON object:
    {"answers": […], "console": […], "dialogs": […], "requests": […]}
with an answer for each step that asks something; console errors, page errors and refusals of the content security policy
(each as the console tells it, and as the document's own event does);
dialogs that opened; and everything the page asked for beyond its own address. Exit status 0 when all steps could be done,
1 when one could not (it is named), 2 when the request makes no sense.

SOUK_BROWSER names a Chromium that runs already, by the address of its debugging port; without it one is started.

Needs the PyPI packages playwright and axe-playwright-python, and the system's Chromium (CHROMIUM names it where it is not called chromium).
"""

import json
import os
import shutil
import sys
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, sync_playwright

PATIENCE = 15_000

# Says on the console what the policy refused, also where the console itself would be silent.
LISTENER = """addEventListener("securitypolicyviolation", (event) =>
    console.error("policy violation", event.violatedDirective, event.blockedURI, event.sample));"""


def first(page, selector):
    """The element meant by a selector, once it is there."""
    found = page.locator(selector)
    found.first.wait_for(state="attached")
    for index in range(found.count()):
        if found.nth(index).is_visible():
            return found.nth(index)
    return found.first


def wait(page, expression):
    """Returns when the expression is true. Asked from outside: the page's policy forbids scripts that are made of texts."""
    end = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            if page.evaluate(expression):
                return
            said = "it is false"
        except Error as error:
            # The page it was asked of may just have gone.
            said = str(error)
        if time.monotonic() > end:
            raise ValueError(f"this did not become true: {expression}: {said}")
        page.wait_for_timeout(20)


def wrong(page):
    """What axe-core finds, one line for each element."""
    violations = Axe().run(page).response["violations"]
    return [f"{found['id']}: {' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}"
            for found in violations for node in found["nodes"]]


def scripting(session):
    figures = {figure["name"]: figure["value"] for figure in session.send("Performance.getMetrics")["metrics"]}
    return round(1000 * (figures["ScriptDuration"] + figures["LayoutDuration"] + figures["RecalcStyleDuration"]))


def do(page, session, step, answers):
    match step:
        case {"click": selector}: first(page, selector).click()
        case {"press": key}: page.keyboard.press(key)
        case {"fill": selector, "with": text}: first(page, selector).fill(text)
        case {"focus": selector}: first(page, selector).focus()
        case {"select": selector, "option": value}: first(page, selector).select_option(value)
        case {"back": _}: page.go_back()
        case {"text": selector}: answers.append(first(page, selector).text_content())
        case {"visible": selector}: answers.append(page.locator(selector).locator("visible=true").count() > 0)
        case {"count": selector}: answers.append(page.locator(selector).count())
        case {"attribute": selector, "name": name}: answers.append(first(page, selector).get_attribute(name))
        case {"focused": _}: answers.append(page.evaluate("document.activeElement.textContent.trim()"))
        case {"evaluate": expression}: answers.append(page.evaluate(expression))
        case {"until": expression}: wait(page, expression)
        case {"axe": _}: answers.append(wrong(page))
        case {"scripting": _}: answers.append(scripting(session))
        case {"screenshot": path}: page.screenshot(path=path)
        case _: raise ValueError(f"no such step: {step}")


def main():
    try:
        request = json.load(sys.stdin)
        url, steps = request["url"], request["steps"]
    except (ValueError, KeyError, TypeError) as error:
        print(f"browser: the request makes no sense: {error!r}", file=sys.stderr)
        return 2
    report = {"answers": [], "console": [], "dialogs": [], "requests": []}
    status = 0
    with sync_playwright() as playwright:
        shared = os.environ.get("SOUK_BROWSER")
        browser = playwright.chromium.connect_over_cdp(shared) if shared else playwright.chromium.launch(
            executable_path=shutil.which(os.environ.get("CHROMIUM") or "chromium"), args=["--no-sandbox"])
        # A context shares nothing with others, so tests may use one browser at the same time.
        context = browser.new_context(
            viewport={"width": request.get("width", 1200), "height": request.get("height", 800)},
            color_scheme=request.get("scheme", "light"))
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.add_init_script(LISTENER)
        page.on("console", lambda message: report["console"].append(message.text)
                if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: report["console"].append(str(error)))
        page.on("dialog", lambda dialog: (report["dialogs"].append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: None if asked.is_navigation_request() else report["requests"].append(asked.url))
        try:
            page.goto(url)
            for step in steps:
                do(page, session, step, report["answers"])
        except (Error, ValueError) as error:
            print(f"browser: {error}", file=sys.stderr)
            status = 1
        context.close()
        browser.close()
    json.dump(report, sys.stdout)
    print()
    return status


if __name__ == "__main__":
    sys.exit(main())
