"""Uses Souk's pages in Chromium as a person does, and returns what they show.

Reads one JSON object on standard input:
    {"url": "file:///…", "width": 1200, "height": 800, "scheme": "light",
     "steps": [{"click": "css"}, {"press": "Enter"}, {"fill": "css", "with": "text"}, {"focus": "css"}, {"back": true},
               {"text": "css"}, {"visible": "css"}, {"count": "css"}, {"attribute": "css", "name": "href"},
               {"focused": true}, {"evaluate": "javascript expression"}, {"until": "javascript expression"}, {"axe": true},
               {"scripting": true}, {"screenshot": "path"}]}

"until" waits for a true value. "axe" returns the findings of the accessibility engine axe-core, and "scripting" the
milliseconds of scripts, layout and style so far. A selector takes the first visible element that it matches, or the first
of all if none is visible.

Prints one JSON object:
    {"answers": […], "console": […], "dialogs": […], "requests": […]}
"answers" has the result of each step with one. "console" has console errors, page errors and violations of the content
security policy, each from the console and from the document's event. "dialogs" has the opened dialogs, and "requests" all
requests of the page except that for its own address.

Exit status 0 when all steps succeeded, 1 when one failed (it is named), 2 for an invalid request.

`browser.py --serve SOCKET` keeps one Chromium open and answers such requests on a Unix socket, one on each connection and
several at a time, until its standard input ends. If SOUK_BROWSER names such a socket, the script uses that browser instead
of starting one.

Needs the PyPI packages playwright and axe-playwright-python, and the system's Chromium (CHROMIUM names it if it is not called chromium).
"""

import asyncio
import json
import os
import shutil
import socket
import sys
import time

PATIENCE = 15_000

# Reports violations of the policy on the console, also those that it would not show.
LISTENER = """addEventListener("securitypolicyviolation", (event) =>
    console.error("policy violation", event.violatedDirective, event.blockedURI, event.sample));"""


async def first(page, selector):
    """The element meant by a selector, once it is there."""
    found = page.locator(selector)
    await found.first.wait_for(state="attached")
    for index in range(await found.count()):
        if await found.nth(index).is_visible():
            return found.nth(index)
    return found.first


async def wait(page, expression):
    """Returns when the expression is true. Asked from outside: the page's policy forbids scripts that are made of texts."""
    from playwright.async_api import Error

    end = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            if await page.evaluate(expression):
                return
            said = "it is false"
        except Error as error:
            # The page may have been closed.
            said = str(error)
        if time.monotonic() > end:
            raise ValueError(f"this did not become true: {expression}: {said}")
        await asyncio.sleep(0.02)


async def wrong(page):
    """What axe-core finds, one line for each element."""
    from axe_playwright_python.async_playwright import Axe

    violations = (await Axe().run(page)).response["violations"]
    return [f"{found['id']}: {' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}"
            for found in violations for node in found["nodes"]]


async def scripting(session):
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    figures = {figure["name"]: figure["value"] for figure in metrics}
    return round(1000 * (figures["ScriptDuration"] + figures["LayoutDuration"] + figures["RecalcStyleDuration"]))


async def do(page, session, step, answers):
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
        case {"axe": _}: answers.append(await wrong(page))
        case {"scripting": _}: answers.append(await scripting(session))
        case {"screenshot": path}: await page.screenshot(path=path, full_page=True)
        case _: raise ValueError(f"no such step: {step}")


async def visit(browser, request):
    """Does what a request asks for. Returns what is to be printed, what went wrong, and the exit status."""
    from playwright.async_api import Error

    report = {"answers": [], "console": [], "dialogs": [], "requests": []}
    complaint = ""

    async def refuse(dialog):
        report["dialogs"].append(dialog.message)
        await dialog.dismiss()

    # A context shares nothing with others, so tests may use one browser at the same time.
    context = await browser.new_context(
        viewport={"width": request.get("width", 1200), "height": request.get("height", 800)},
        color_scheme=request.get("scheme", "light"))
    try:
        page = await context.new_page()
        page.set_default_timeout(PATIENCE)
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable")
        await page.add_init_script(LISTENER)
        page.on("console", lambda message: report["console"].append(message.text)
                if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: report["console"].append(str(error)))
        page.on("dialog", refuse)
        page.on("request", lambda asked: None if asked.is_navigation_request() else report["requests"].append(asked.url))
        await page.goto(request["url"])
        for step in request["steps"]:
            await do(page, session, step, report["answers"])
    except (Error, ValueError) as error:
        complaint = f"browser: {error}"
    await context.close()
    return {"report": report, "complaint": complaint, "status": 1 if complaint else 0}


async def with_browser(use):
    """Starts Chromium, and ends it after `use`."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which(os.environ.get("CHROMIUM") or "chromium"), args=["--no-sandbox"])
        try:
            return await use(browser)
        finally:
            await browser.close()


async def serve(path):
    """Answers requests until standard input ends; says so when it begins."""
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


def asked_of(path, request):
    """Returns the answer of the browser that listens at a socket."""
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
        print(f"browser: the request makes no sense: {error!r}", file=sys.stderr)
        return 2
    shared = os.environ.get("SOUK_BROWSER")
    outcome = asked_of(shared, request) if shared else asyncio.run(with_browser(lambda browser: visit(browser, request)))
    if outcome["complaint"]:
        print(outcome["complaint"], file=sys.stderr)
    print(json.dumps(outcome["report"]))
    return outcome["status"]


if __name__ == "__main__":
    sys.exit(main())
