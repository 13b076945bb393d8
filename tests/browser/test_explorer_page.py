"""The report in a real browser, from files: no errors, heads by mouse and by keyboard, other models, phones.

Skipped where there is no selenium (requirements/browser.lock) or no Chromium with its driver.
"""

import shutil

import pytest

from helpers import study
from helpers.publish import report
from tests.unit import tiny_report

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install -r requirements/browser.lock")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Chromium and its driver (apt: chromium chromium-driver)"
)
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking")


@pytest.fixture(scope="module")
def folder(session, tmp_path_factory):
    """A report of the committed notebooks with a tiny model in the explorer, and one that was not trained."""
    with pytest.MonkeyPatch.context() as patch:
        base = tmp_path_factory.mktemp("browser")
        patch.setenv("HEADS_RUNS", str(base / "runs"))
        patch.setenv("HEADS_DATA", str(base / "data"))
        run = study.runs() / "tiny-controlled"
        tiny_report.make(run)
        report.build(run, base / "report")
    return base / "report"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(params=SIZES)
def size(request, browser):
    width, height = SIZES[request.param]
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": request.param == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    return request.param


def explorer(browser, folder, choice=""):
    browser.get("about:blank")  # another fragment alone would not load the page anew
    browser.get(f"{(folder / 'explorer.html').as_uri()}#{choice}")
    WebDriverWait(browser, 10).until(lambda found: found.find_elements(By.CSS_SELECTOR, "#head h2"))


def cell(browser, head):
    return browser.find_element(By.CSS_SELECTOR, f'[data-head="{head}"]')


def title(browser):
    return browser.find_element(By.CSS_SELECTOR, "#head h2").text


def test_no_page_has_errors_or_is_wider_than_its_screen(browser, folder, size):
    for page in sorted(folder.glob("*.html")):
        browser.get(page.as_uri())
        wide, screen = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= screen, page.name
        assert browser.get_log("browser") == [], page.name


def test_a_head_by_keyboard(browser, folder, size):
    explorer(browser, folder, "model=ru-subtitles&measure=confidence&head=encoder.1.0")
    at = cell(browser, "encoder.1.0")
    at.send_keys(Keys.ARROW_RIGHT, "")
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    focused = browser.switch_to.active_element
    assert focused.get_attribute("data-head") == "encoder.0.1"  # the first layer is at the bottom
    assert title(browser) == "Encoder self, layer 2, head 1"
    focused.send_keys(Keys.ENTER)
    assert title(browser) == "Encoder self, layer 1, head 2"


def test_another_model(browser, folder, size):
    explorer(browser, folder, "model=ru-subtitles&measure=confidence&head=encoder.0.0")
    Select(browser.find_element(By.ID, "model")).select_by_value("de-news")
    WebDriverWait(browser, 10).until(lambda found: "EN-DE news" in found.find_element(By.ID, "head").text)
    assert "not in the store" in browser.find_element(By.ID, "head").text
    assert browser.current_url.endswith("model=de-news&measure=confidence&head=encoder.0.0")
    assert browser.get_log("browser") == []
