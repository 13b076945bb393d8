"""The report in a real browser, from files: no errors, heads by mouse and by keyboard, other models, phones.

Skipped where there is no selenium (requirements/browser.lock) or no Chromium with its driver.
"""

import re
import shutil
from dataclasses import replace

import pytest

from helpers import models, study
from helpers.corpora.tokens import collate
from helpers.heads import gate
from helpers.measures.worth import mean_loss
from helpers.publish import explorer as data
from helpers.publish import inpage, report
from helpers.runs import training
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
WEIGHTS = (0.2126, 0.7152, 0.0722)  # of red, green and blue in what is seen as bright
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
FLAGS = (
    "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def built(session, tmp_path_factory):
    """A report of the committed notebooks with a tiny model in the explorer, and one that was not trained; that model."""
    with pytest.MonkeyPatch.context() as patch:
        base = tmp_path_factory.mktemp("browser")
        patch.setenv("HEADS_RUNS", str(base / "runs"))
        patch.setenv("HEADS_DATA", str(base / "data"))
        run = study.runs() / "tiny-controlled"
        subject, *_ = tiny_report.make(run)
        report.build(run, base / "report")
    return base / "report", subject


@pytest.fixture(scope="module")
def folder(built):
    return built[0]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
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


def press(browser, button):
    """By script: on an emulated phone the driver misses what it had to scroll to."""
    browser.execute_script("arguments[0].click()", browser.find_element(By.ID, button))


def title(browser):
    return browser.find_element(By.CSS_SELECTOR, "#head h2").text


def test_no_page_has_errors_or_is_wider_than_its_screen(browser, folder, size):
    browser.get_log("performance")
    for page in sorted(folder.glob("*.html")):
        browser.get(page.as_uri())
        wide, screen = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= screen, page.name
        assert browser.get_log("browser") == [], page.name
    asked = [entry["message"] for entry in browser.get_log("performance") if "Network.requestWillBeSent" in entry["message"]]
    assert asked and not any('"url":"http' in message for message in asked)


def test_verdicts_are_within_the_screen(browser, folder, size):
    browser.get((folder / "03_l0_pruning.html").as_uri())
    asked = """return [...document.querySelectorAll(".verdicts tbody tr td:last-child")].map((cell) => {
        const { width, right } = cell.getBoundingClientRect();
        return [width, right, document.documentElement.clientWidth];
      });"""
    found = browser.execute_script(asked)
    assert found and all(width > 60 and right <= screen for width, right, screen in found)


def test_a_head_by_mouse(browser, folder, size):
    explorer(browser, folder, "model=ru-subtitles&head=encoder.0.0")
    cell(browser, "cross.0.1").click()
    assert title(browser) == "Cross, layer 1, head 2"
    assert cell(browser, "cross.0.1").get_attribute("aria-selected") == "true"
    assert browser.find_elements(By.CSS_SELECTOR, ".attention svg") and "head=cross.0.1" in browser.current_url


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


def test_gates_and_another_model(browser, folder, size):
    explorer(browser, folder, "model=ru-subtitles&measure=confidence&head=encoder.0.0")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#head .chart path")) == 2
    Select(browser.find_element(By.ID, "model")).select_by_value("de-news")
    WebDriverWait(browser, 10).until(lambda found: "EN-DE news" in found.find_element(By.ID, "head").text)
    text = browser.find_element(By.ID, "head").text
    assert "not in the store" in text and "No pruning run" in text
    assert browser.current_url.endswith("model=de-news&measure=confidence&head=encoder.0.0")
    assert browser.get_log("browser") == []


OFF = ("encoder.0.1", "encoder.1.0", "decoder.0.1", "cross.1.0")


@pytest.mark.parametrize("off", [OFF[:0], OFF], ids=["all on", "of all kinds"])
def test_the_page_computes_what_the_model_does(browser, built, off):
    """Loss and greedy translation of the model with its weights in eight bits, heads gated, sentence by sentence."""
    folder, subject = built
    explorer(browser, folder, f"model=ru-subtitles&off={','.join(OFF[1:3])}")  # states of other heads off are kept
    asked = """const live = openModel(MODELS["ru-subtitles"]), off = new Set(arguments[0]);
        return MODELS["ru-subtitles"].sentences.map((sentence) => {
          live.loss(sentence, new Set(["encoder.1.1"]));
          const { sum, tokens } = live.loss(sentence, off);
          return [sum / tokens, live.text(live.translate(sentence, off)), sentence.words];
        });"""
    WebDriverWait(browser, 10).until(lambda found: found.execute_script("return Boolean(window.MODELS)"))
    losses, written, texts = zip(*browser.execute_script(asked, list(off)), strict=True)
    model, addresses = inpage.in_eight_bits(subject.model), [head.split(".") for head in off]
    numbers = data.examples(subject.sentences, data.SENTENCES)
    assert list(texts) == [subject.sentences[number].source for number in numbers]
    with gate(model, {(kind, int(layer), int(head)): 0.0 for kind, layer, head in addresses}):
        expected = [mean_loss(model, [collate(subject.encoded, [number], subject.source.pad)]) for number in numbers]
        assert list(written) == training.translate(model, list(texts), subject.source, subject.target)
    assert losses == pytest.approx(expected, abs=2e-4)


def test_a_loss_is_there_before_a_reader_notices(browser, built):
    """Of a sentence, by a model of the published study's size with random weights: at most 100 ms."""
    folder, subject = built
    model = models.build(study.settings("laptop")["model"], subject.source.size, subject.target.size, 1).eval()
    large = replace(subject, opened=lambda: model)
    path = inpage.write(folder / "heads", "large", large, data.examples(subject.sentences, 1))
    explorer(browser, folder, "model=ru-subtitles")
    browser.set_script_timeout(60)
    took = browser.execute_async_script(
        """const done = arguments[1], script = document.createElement("script");
        script.src = arguments[0];
        script.onload = () => {
          const live = openModel(MODELS["large"]), [sentence] = MODELS["large"].sentences;
          done(Array.from({ length: 15 }, () => {
            const start = performance.now();
            live.loss(sentence, new Set(["encoder.1.1"]));
            return performance.now() - start;
          }));
        };
        document.head.append(script);""",
        f"heads/{path.name}",
    )
    assert 0 < min(took) < 100, took


def test_dark_pages_can_be_read(browser, folder):
    def brightness(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]  # "rgb(1, 2, 3)"
        return sum(w * (c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip(WEIGHTS, parts, strict=True))

    asked = """return ["body", "main p", "main a", "button, select", "pre, footer"].map((which) => {
        const style = getComputedStyle(document.querySelector(which));
        return [style.color, getComputedStyle(document.body).backgroundColor];
      });"""
    for scheme, dark in (("dark", True), ("light", False)):
        said = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", said)
        for page in ("index.html", "01_relevance_and_confidence.html", "explorer.html"):
            browser.get((folder / page).as_uri())
            for ink, paper in browser.execute_script(asked):
                low, high = sorted(map(brightness, (ink, paper)))
                assert (high + 0.05) / (low + 0.05) >= 4.5 and (brightness(paper) < 0.1) == dark, (page, scheme, ink, paper)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_heads_are_switched_off_and_on(browser, folder, size):
    def loss(changed):
        WebDriverWait(browser, 10).until(
            lambda found: "nats" in (t := found.find_element(By.ID, "loss-all").text) and ("→" in t) == changed
        )
        return browser.find_element(By.ID, "loss-all").text

    explorer(browser, folder)  # the model on which the page opens
    WebDriverWait(browser, 10).until(lambda found: found.find_elements(By.ID, "loss-all"))
    cell(browser, "encoder.0.0").click()
    assert "model=ru-subtitles" in browser.current_url
    whole = loss(False)
    cell(browser, "encoder.0.0").send_keys("x")
    assert loss(True).startswith(whole.split()[0]) and "off=encoder.0.0" in browser.current_url
    assert "off" in cell(browser, "encoder.0.0").get_attribute("class").split()
    press(browser, "random")
    assert loss(True) and len(browser.find_elements(By.CSS_SELECTOR, ".head.off")) == 1
    press(browser, "all-on")
    assert loss(False) == whole
    press(browser, "switch")
    assert loss(True) and "1 of" in browser.find_element(By.CSS_SELECTOR, "#without h2").text
    Select(browser.find_element(By.ID, "model")).select_by_value("de-news")
    WebDriverWait(browser, 10).until(lambda found: not found.find_element(By.ID, "without").is_displayed())
    assert browser.get_log("browser") == []
