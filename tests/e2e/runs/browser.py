"""browser.py: drives a headless Chromium over the pipe of its DevTools protocol, for tests of pages.

    with Browser(program, profile) as browser:
        page = browser.page(width, height, dark)
        page.go(address); page.value("document.title"); page.shot("file.png")
"""
import base64
import json
import os
import subprocess
import time

WAIT_S = 60


class Browser:
    def __init__(self, program, profile):
        to, self.out = os.pipe()
        self.read, back = os.pipe()

        def begin():  # the program reads commands from descriptor 3, and writes to 4
            first, second = os.dup(to), os.dup(back)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}",
             "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=begin, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.number, self.rest, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *what):
        try:
            self.ask("Browser.close")
        except (OSError, EOFError):
            self.process.kill()
        self.process.wait()

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def page(self, width, height, dark):
        return Page(self, width, height, dark)


class Page:
    def __init__(self, browser, width, height, dark):
        self.browser = browser
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def ask(self, method, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def go(self, address):
        self.ask("Page.navigate", url=address)

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if self.value(f"Boolean({expression})"):
                return True
            time.sleep(0.05)
        raise TimeoutError("not in time: " + expression)

    def key(self, name):
        codes = {"ArrowDown": 40, "ArrowUp": 38, "Enter": 13, "Escape": 27, "Tab": 9}
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=codes[name])

    def faults(self):
        """The errors in the page's console, and what its policy has refused."""
        self.value("1")
        return [event for event in self.browser.events if event.get("sessionId") == self.session and (
            event["method"] == "Runtime.exceptionThrown" or
            (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"))]

    def shot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
