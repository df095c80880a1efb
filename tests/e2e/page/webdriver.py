"""A small WebDriver client: drives a headless Chromium through its chromedriver, with the standard library only."""
import base64
import http.client
import json
import shutil
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def available():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


class Browser:
    def __init__(self, port, width=1280, height=900, dark=False):
        self._profile = tempfile.TemporaryDirectory(prefix="penstock-chromium-", ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._port = port
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--force-prefers-reduced-motion",
                     f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}"]
        if dark:
            arguments.append("--force-dark-mode")
        options = {"args": arguments, "binary": shutil.which("chromium")}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                   "goog:loggingPrefs": {"browser": "ALL"}}}}
        self._session = ""
        end = time.monotonic() + 30
        while True:
            try:
                self._session = "/session/" + self._call("POST", "/session", wanted)["sessionId"]
                break
            except OSError:
                assert time.monotonic() < end, "chromedriver does not answer"
                time.sleep(0.05)
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.wait(20)
            self._profile.cleanup()

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, path, json.dumps(body) if body is not None else None)
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{value['error']}: {value['message']}")
        return value

    def resize(self, width, height):
        """The size of the page's view, also below the least window of a desktop."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def devtools(self, command, **parameters):
        return self._call("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self._call("POST", f"{self._session}/url", {"url": url})

    def run(self, script, *arguments):
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def find(self, selector):
        return self._call("POST", f"{self._session}/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._call("POST", f"{self._session}/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self._call("POST", f"{self._session}/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wait(self, script, seconds=20):
        """Polls until the expression is true and returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(f"return ({script})")
            if value:
                return value
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            time.sleep(0.05)

    def errors(self):
        """The complaints of the page since the last call: exceptions, and stops by its security policy."""
        lines = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [line["message"] for line in lines if line["level"] == "SEVERE"]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("GET", f"{self._session}/screenshot")))
