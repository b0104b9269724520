"""Headless Chromium over the UI: what a person sees, with everything that goes wrong noted."""

import shutil
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Eyes:
    """One browser page; keeps console errors, failed answers and requests that leave this machine."""

    def __init__(self, page, url, pictures):
        self.page, self.url, self.pictures = page, url, Path(pictures)
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.wrong = []
        page.on("console", lambda message: message.type == "error" and self.wrong.append(message.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (self.wrong.append(f"a script ran: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._request)
        page.on("response", lambda answer: answer.status >= 400 and self.wrong.append(f"{answer.status} {answer.url}"))

    def _request(self, request):
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.hostname != "127.0.0.1":
            self.wrong.append(f"left this machine: {request.url}")

    def open(self, path, *texts, picture=""):
        """Open a page, wait until it shows the texts, and take a picture of it."""
        self.page.goto(self.url + path, wait_until="domcontentloaded")
        for text in texts:
            self.page.get_by_text(text, exact=True).first.wait_for(timeout=60_000)
        if picture:
            self.picture(picture)

    def picture(self, name):
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_timeout(700)
        self.page.screenshot(path=self.pictures / f"{name}.png")


@contextmanager
def eyes(url, profile, pictures):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(profile), executable_path=BROWSER, args=list(QUIET), viewport={"width": 1500, "height": 1000}
        )
        yield Eyes(context.pages[0] if context.pages else context.new_page(), url, pictures)
        context.close()
