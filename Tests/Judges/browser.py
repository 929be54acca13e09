"""Uses Souk's pages in Chromium as a person does, and reports what they show.

Reads one JSON object on standard input:
    {"url": "file:///…", "width": 1200, "height": 800, "scheme": "light",
     "steps": [{"click": "css"}, {"press": "Enter"}, {"fill": "css", "with": "text"}, {"focus": "css"},
               {"select": "css", "option": "value"}, {"back": true}, {"text": "css"}, {"visible": "css"},
               {"count": "css"}, {"attribute": "css", "name": "href"}, {"focused": true},
               {"evaluate": "javascript expression"}, {"until": "javascript expression"}, {"axe": true},
               {"scripting": true}, {"screenshot": "path"}]}

"until" waits for a true value. "focused" returns the text of the focused element, "axe" the findings of the accessibility
engine axe-core, and "scripting" the milliseconds that scripts, layout and style took so far. "visible" returns whether any
matching element is visible, and "count" the number of matching elements. Other steps with a selector use the first visible
element that matches, or the first one if none is visible.

Prints one JSON object:
    {"answers": […], "console": […], "dialogs": […], "requests": […]}
"answers" has the results of the steps that return one. "console" has the errors and warnings of the console, uncaught errors
of the page, and violations of the content security policy. "dialogs" has the messages of dialogs, which are dismissed.
"requests" has the addresses of all requests except navigations.

Exit status 0 if all steps succeeded, 1 if one failed (standard error has the reason), 2 for an invalid request.

`browser.py --serve SOCKET` keeps one Chromium open and answers such requests on a Unix socket until its standard input ends.
Each connection carries one request; several can be open at a time. If SOUK_BROWSER names such a socket, the script uses
that browser and starts none.

Needs the PyPI packages playwright and axe-playwright-python, and the system's Chromium. If its program is not called
chromium, CHROMIUM names it.
"""

import asyncio
import json
import os
import shutil
import socket
import sys
import time

TIMEOUT_MILLISECONDS = 15_000

# Writes each violation of the content security policy to the console, also those that Chromium does not show there.
LISTENER = """addEventListener("securitypolicyviolation", (event) =>
    console.error("policy violation", event.violatedDirective, event.blockedURI, event.sample));"""


async def first(page, selector):
    """Waits for an element that matches. Returns the first visible one, or the first one if none is visible."""
    found = page.locator(selector)
    await found.first.wait_for(state="attached")
    for index in range(await found.count()):
        if await found.nth(index).is_visible():
            return found.nth(index)
    return found.first


async def wait(page, expression):
    """Waits until the expression is true. Evaluates it repeatedly from here, because the content security policy of the page
    forbids it to evaluate strings."""
    from playwright.async_api import Error

    end = time.monotonic() + TIMEOUT_MILLISECONDS / 1000
    while True:
        try:
            if await page.evaluate(expression):
                return
            reason = "it is false"
        except Error as error:
            # For example, another page is being loaded.
            reason = str(error)
        if time.monotonic() > end:
            raise ValueError(f"not true in {TIMEOUT_MILLISECONDS} ms: {expression}: {reason}")
        await asyncio.sleep(0.02)


async def accessibility_findings(page):
    """Returns the findings of axe-core, one line for each element."""
    from axe_playwright_python.async_playwright import Axe

    violations = (await Axe().run(page)).response["violations"]
    return [f"{found['id']}: {' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}"
            for found in violations for node in found["nodes"]]


async def scripting_milliseconds(session):
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    figures = {figure["name"]: figure["value"] for figure in metrics}
    return round(1000 * (figures["ScriptDuration"] + figures["LayoutDuration"] + figures["RecalcStyleDuration"]))


async def execute(page, session, step, answers):
    match step:
        case {"click": selector}: await (await first(page, selector)).click()
        case {"press": key}: await page.keyboard.press(key)
        case {"fill": selector, "with": text}: await (await first(page, selector)).fill(text)
        case {"focus": selector}: await (await first(page, selector)).focus()
        case {"select": selector, "option": value}: await (await first(page, selector)).select_option(value)
        case {"back": _}: await page.go_back()
        case {"text": selector}: answers.append(await (await first(page, selector)).text_content())
        case {"visible": selector}: answers.append(await page.locator(selector).locator("visible=true").count() > 0)
        case {"count": selector}: answers.append(await page.locator(selector).count())
        case {"attribute": selector, "name": name}: answers.append(await (await first(page, selector)).get_attribute(name))
        case {"focused": _}: answers.append(await page.evaluate("document.activeElement.textContent.trim()"))
        case {"evaluate": expression}: answers.append(await page.evaluate(expression))
        case {"until": expression}: await wait(page, expression)
        case {"axe": _}: answers.append(await accessibility_findings(page))
        case {"scripting": _}: answers.append(await scripting_milliseconds(session))
        case {"screenshot": path}: await page.screenshot(path=path, full_page=True)
        case _: raise ValueError(f"unknown step: {step}")


async def visit(browser, request):
    """Opens the page of a request and executes its steps. Returns the report to print, the message of a failure, and the exit
    status."""
    from playwright.async_api import Error

    report = {"answers": [], "console": [], "dialogs": [], "requests": []}
    failure = ""

    async def refuse(dialog):
        report["dialogs"].append(dialog.message)
        await dialog.dismiss()

    # A context shares nothing with others, so tests may use one browser at the same time.
    context = await browser.new_context(
        viewport={"width": request.get("width", 1200), "height": request.get("height", 800)},
        color_scheme=request.get("scheme", "light"))
    try:
        page = await context.new_page()
        page.set_default_timeout(TIMEOUT_MILLISECONDS)
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable")
        await page.add_init_script(LISTENER)
        page.on("console", lambda message: report["console"].append(message.text)
                if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: report["console"].append(str(error)))
        page.on("dialog", refuse)
        page.on("request", lambda sent: None if sent.is_navigation_request() else report["requests"].append(sent.url))
        await page.goto(request["url"])
        for step in request["steps"]:
            await execute(page, session, step, report["answers"])
    except (Error, ValueError) as error:
        failure = f"browser: {error}"
    await context.close()
    return {"report": report, "failure": failure, "status": 1 if failure else 0}


async def with_browser(use):
    """Starts Chromium, returns the result of `use` with it, and ends Chromium."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which(os.environ.get("CHROMIUM") or "chromium"), args=["--no-sandbox"])
        try:
            return await use(browser)
        finally:
            await browser.close()


async def serve(path):
    """Answers requests on a Unix socket until standard input ends. Prints "ready" as soon as it listens."""
    async def until_input_ends(browser):
        async def answer(reader, writer):
            outcome = await visit(browser, json.loads(await reader.read()))
            writer.write(json.dumps(outcome).encode())
            await writer.drain()
            writer.close()

        async with await asyncio.start_unix_server(answer, path):
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.read)

    await with_browser(until_input_ends)


def send_to_shared_browser(path, request):
    """Returns the response of the browser that listens at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        pieces = []
        while piece := connection.recv(1 << 16):
            pieces.append(piece)
    return json.loads(b"".join(pieces))


def main():
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(sys.argv[2]))
        return 0
    try:
        request = json.load(sys.stdin)
        if not isinstance(request["url"], str) or not isinstance(request["steps"], list):
            raise TypeError("url must be a string, and steps a list")
    except (ValueError, KeyError, TypeError) as error:
        print(f"browser: invalid request: {error!r}", file=sys.stderr)
        return 2
    shared = os.environ.get("SOUK_BROWSER")
    if shared:
        outcome = send_to_shared_browser(shared, request)
    else:
        outcome = asyncio.run(with_browser(lambda browser: visit(browser, request)))
    if outcome["failure"]:
        print(outcome["failure"], file=sys.stderr)
    print(json.dumps(outcome["report"]))
    return outcome["status"]


if __name__ == "__main__":
    sys.exit(main())
