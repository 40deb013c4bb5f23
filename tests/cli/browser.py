"""A headless Chromium to look at pages with: opened files, no network, spoken to over a pipe (Chrome DevTools protocol)."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

LIMIT_S = 100
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"]


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """Use as `with Browser(folder) as browser`; one page at a time. `complaints` are messages of the console and dialogs."""

    def __init__(self, folder):
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()
        # Chromium reads commands at 3 and answers at 4; other numbers must not be in the way.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 64) for end in (to_child, from_child)]
        os.close(to_child)
        os.close(from_child)
        words = ["bash", "-c", f'exec "$@" 3<&{ends[0]} 4>&{ends[1]} {ends[0]}<&- {ends[1]}>&-', "chromium",
                 find(), *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"]
        self.child = subprocess.Popen(words, pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": str(folder)})
        for end in ends:
            os.close(end)
        self.read, self.number, self.session, self.complaints, self.events = b"", 0, None, [], []

    def __enter__(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Performance"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.ask("Browser.close")
        except (OSError, RuntimeError):
            pass
        os.close(self.to)
        os.close(self.back)
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, 9)
            self.child.wait()

    def hear(self, until):
        """The next message."""
        while b"\0" not in self.read:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise RuntimeError(f"chromium said nothing for {LIMIT_S} s")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("chromium ended")
            self.read += more
        message, self.read = self.read.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        what, about = message.get("method"), message.get("params", {})
        self.events.append(what)
        if what == "Runtime.consoleAPICalled":
            self.complaints.append("console: " + json.dumps([a.get("value", a.get("description")) for a in about["args"]]))
        elif what == "Runtime.exceptionThrown":
            self.complaints.append("exception: " + str(about["exceptionDetails"].get("exception", {}).get("description")))
        elif what == "Log.entryAdded":
            self.complaints.append("log: " + about["entry"]["text"])
        elif what == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog opened: " + about["message"])
            self.send("Page.handleJavaScriptDialog", accept=True)

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        return self.number

    def ask(self, method, **params):
        number, until = self.send(method, **params), time.monotonic() + LIMIT_S
        while True:
            message = self.hear(until)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message.get("result", {})
            self.note(message)

    def open(self, path, width=1440, height=900, dark=False):
        """Opens a file and waits until it is drawn."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        number, until = self.send("Page.navigate", url=Path(path).resolve().as_uri()), time.monotonic() + LIMIT_S
        while "Page.loadEventFired" not in self.events:
            message = self.hear(until)
            if message.get("id") != number:
                self.note(message)
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, expression):
        """What JavaScript gives, awaited."""
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"].get("exception", {}).get("description"))[:500])
        return answer["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9, "ArrowRight": 39}.get(key, 0))

    def point(self, expression, across=0.5, down=0.5):
        """Moves the pointer over what JavaScript finds, so far across and down in it."""
        x, y = self.value(f"""(e => {{ e.scrollIntoView({{block: 'center'}}); const at = e.getBoundingClientRect();
            return [at.x + at.width * {across}, at.y + at.height * {down}]; }})({expression})""")
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, expression):
        x, y = self.point(expression)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def cpu_s(self):
        """Of the page's main thread, since it was opened."""
        return {m["name"]: m["value"] for m in self.ask("Performance.getMetrics")["metrics"]}["ThreadTime"]

    def picture(self, path):
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
