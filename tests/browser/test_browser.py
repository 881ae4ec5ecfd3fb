"""What only a browser shows: links, navigation, Back, the player, themes, a phone."""

import re
import zipfile
from urllib.parse import parse_qs, urlsplit

import pandas
import pytest

from grpo_core import TrainConfig, chapter_task, train

from .conftest import assert_nothing_sideways, settle

PAGES = (
    "/",
    "/one_group",
    "/one_update",
    "/training_run",
    "/kl_leash",
    "/silent_groups",
    "/verifiable_rewards",
    "/ppo_dpo_grpo",
    "/grpo_family",
    "/why_is_my_loss_0",
    "/scale_up",
)


def params(page) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(page.url).query).items()}


def where(page) -> str:
    return page.locator(".where").inner_text()


def heatmap(page) -> list[float]:
    return [float(text.split()[0]) for text in page.locator(".heatmap td").all_inner_texts()]


def count_messages(page) -> None:
    """From now on `window.sent` is how many messages the page has sent to the server."""
    page.evaluate(
        "() => { window.sent = 0; const send = WebSocket.prototype.send;"
        " WebSocket.prototype.send = function (...a) { window.sent += 1; return send.apply(this, a); }; }"
    )


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_scrolls_sideways(open_at, path, width):
    page = open_at(path, width=width)
    assert_nothing_sideways(page)


def test_cold_deep_link_restores_everything(open_at):
    page = open_at("/training_run?group_size=8&learning_rate=0.3&lang=zh&prompt=2")
    assert page.locator("h1").inner_text() == "训练过程"
    assert page.locator(".groups thead th").count() == 1 + 8 + 2
    page.locator("[data-testid=stSidebar] a", has_text="一次更新").click()
    page.wait_for_function("document.querySelector('h1')?.innerText === '一次更新'")
    settle(page)
    assert params(page) == {"group_size": "8", "learning_rate": "0.3", "lang": "zh", "prompt": "2"}


def test_settings_survive_navigation_back_and_forward(open_at):
    page = open_at("/")
    slider = page.locator("[data-testid=stSlider]", has_text="Group size").locator("input")
    slider.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("location.search.includes('group_size=6')")
    settle(page)
    page.locator("[data-testid=stSidebar] a", has_text="Training run").click()
    page.wait_for_selector(".groups td")
    settle(page)
    assert params(page) == {"group_size": "6"}
    assert page.locator(".groups thead th").count() == 1 + 6 + 2
    page.go_back()
    page.wait_for_function("document.querySelector('h1')?.innerText.startsWith('GRPO')")
    settle(page)
    assert params(page) == {"group_size": "6"}
    page.go_forward()
    page.wait_for_selector(".groups td")
    settle(page)
    assert page.locator(".groups thead th").count() == 1 + 6 + 2


def test_back_undoes_a_setting(open_at):
    page = open_at("/training_run?group_size=5")
    slider = page.locator("[data-testid=stSlider]", has_text="Group size").locator("input")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.search.includes('group_size=6')")
    settle(page)
    page.go_back()
    settle(page)
    assert params(page) == {"group_size": "5"}
    assert page.locator(".groups thead th").count() == 1 + 5 + 2


def test_player_shows_the_core_s_numbers_and_steps(open_at):
    page = open_at("/training_run?seed=4")
    history = train(chapter_task(), TrainConfig(seed=4))
    for action, epoch in (("first", 1), ("forward", 2), ("last", 40), ("back", 39)):
        page.locator(f"[data-do={action}]").click()
        assert where(page) == f"Epoch {epoch} / 40"
        assert heatmap(page) == pytest.approx(history.probabilities[0, epoch - 1].flatten().tolist(), abs=6e-4)
    assert page.locator("[data-curve=kl] output").inner_text() == f"{history.mean_kl[0, 38]:.3f}"


def test_keyboard_and_dragging_move_all_views(open_at):
    page = open_at("/training_run")
    page.locator("[data-do=first]").focus()
    page.keyboard.press("ArrowRight")
    assert where(page) == "Epoch 2 / 40"
    page.keyboard.press("End")
    assert where(page) == "Epoch 40 / 40"
    before = heatmap(page)
    plot = page.locator("[data-curve=reward] .plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.mouse.up()
    assert 8 <= int(re.findall(r"\d+", where(page))[0]) <= 14
    assert heatmap(page) != before


def test_space_plays_and_pauses_from_the_slider(open_at):
    page = open_at("/training_run")
    page.locator(".player input").focus()
    page.keyboard.press(" ")
    assert page.locator("[data-do=play]").inner_text() == "Pause"
    page.keyboard.press(" ")
    assert page.locator("[data-do=play]").inner_text() == "Play"


def test_actions_that_look_like_numbers_are_labels(open_at):
    """Plotly would put the action '4' at the place 4 of a number axis."""
    page = open_at("/one_update")
    page.wait_for_selector(".xtick text")
    for chart in page.locator(".js-plotly-plot").all():
        assert chart.locator(".xtick text").all_text_contents() == ["4", "paris", "a"]
    page = open_at("/training_run?curve=all")
    page.wait_for_selector(".heatmaplayer image")
    rows = page.locator(".js-plotly-plot", has=page.locator(".heatmaplayer image")).locator(".ytick text")
    assert len(rows.all_text_contents()) == 9 and "2+2? → 4 ★" in rows.all_text_contents()


def test_playing_sends_no_message_and_goes_on_with_new_settings_and_a_new_theme(open_at):
    page = open_at("/training_run?epochs=100")
    count_messages(page)
    page.locator("[data-do=play]").click()
    page.wait_for_timeout(2500)
    sent = page.evaluate("window.sent")
    epoch = int(re.findall(r"\d+", where(page))[0])
    assert epoch > 4 and sent == 0
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector(".player.dark")
    slider = page.locator("[data-testid=stSlider]", has_text="Group size").locator("input")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.search.includes('group_size=5')")
    settle(page)
    later = int(re.findall(r"\d+", where(page))[0])
    assert later > epoch and page.locator("[data-do=play]").inner_text() == "Pause"


def test_home_plays_the_loop_in_the_browser(open_at):
    page = open_at("/?prompt=2&seed=3")
    history = train(chapter_task(), TrainConfig(seed=3))
    count_messages(page)
    page.locator("[data-do=play]").click()
    page.wait_for_timeout(1500)
    page.locator("[data-do=play]").click()
    epoch = int(re.findall(r"\d+", where(page))[0])
    assert epoch > 2 and page.evaluate("window.sent") == 0
    shares = page.locator("[data-stage=moved] .share b").all_inner_texts()
    after = history.probabilities[0, epoch, 1].tolist()
    assert [float(text.split()[0]) for text in shares] == pytest.approx(after, abs=6e-4)
    page.locator("[data-stage=moved] a").click()
    page.wait_for_function("document.querySelector('h1')?.innerText === 'One update'")
    assert params(page) == {"prompt": "2", "seed": "3"}


def test_the_player_s_controls_stay_in_sight(open_at):
    page = open_at("/training_run")
    page.locator("[data-curve=kl]").scroll_into_view_if_needed()
    page.mouse.move(900, 500)
    page.mouse.wheel(0, 300)
    page.wait_for_timeout(500)
    assert 40 <= page.locator(".controls").bounding_box()["y"] <= 80


def test_a_click_on_a_prompt_is_in_the_link(open_at):
    page = open_at("/training_run")
    page.locator(".heatmap th button").nth(2).click()
    page.wait_for_function("location.search.includes('prompt=3')")
    settle(page)
    assert page.locator(".heatmap tr.chosen th").inner_text() == "first letter of abc?"


def test_language_switch_leaves_no_english(open_at):
    page = open_at("/training_run?lang=zh")
    text = page.locator("[data-testid=stMain]").inner_text()
    for english in ("Reward", "Advantages", "Predict", "Epoch", "silent"):
        assert english not in text


def test_hostile_link_stays_text(open_at):
    page = open_at("/one_group?rewards=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&seed=%24x%24&prompt=%3Cscript%3E")
    assert page.locator("[data-testid=stAlert]").inner_text().count("The default is used instead") == 3
    assert page.locator("[data-testid=stMain] img[src=x]").count() == 0


def test_bad_rewards_keep_the_last_good_group(open_at):
    page = open_at("/one_group?rewards=0,1,1,0")
    field = page.locator("[data-testid=stTextInput] input")
    field.fill("0, one")
    field.press("Enter")
    page.wait_for_selector("[data-testid=stAlert]")
    settle(page)
    assert "'one'" in page.locator("[data-testid=stAlert]").inner_text()
    assert field.input_value() == "0, one"
    assert params(page) == {"rewards": "0,1,1,0"}
    assert "+1.000" in page.locator("[data-testid=stMain] .katex").last.inner_text().replace("−", "-")


def test_a_prompt_can_be_chosen_again_after_going_back(open_at):
    page = open_at("/training_run")
    for _ in range(2):
        page.locator(".heatmap th button").nth(2).click()
        page.wait_for_function("location.search.includes('prompt=3')")
        settle(page)
        assert params(page) == {"prompt": "3"}
        assert page.locator(".heatmap tr.chosen th").inner_text() == "first letter of abc?"
        page.go_back()
        page.wait_for_function("location.search === ''")
        settle(page)
        assert page.locator(".heatmap tr.chosen th").inner_text() == "2+2?"


def test_bad_rewards_go_along_to_the_next_page_with_their_message(open_at):
    page = open_at("/one_group")
    field = page.locator("[data-testid=stTextInput] input")
    field.fill("0, one")
    field.press("Enter")
    page.wait_for_selector("[data-testid=stAlert]")
    page.locator("[data-testid=stSidebar] a", has_text="One update").click()
    page.wait_for_function("document.querySelector('h1')?.innerText === 'One update'")
    settle(page)
    assert page.locator("[data-testid=stAlert]").count() == 1
    assert page.locator("[data-testid=stTextInput] input").input_value() == "0, one"


def test_the_share_popover_has_the_link_and_its_code(open_at):
    page = open_at("/training_run?group_size=8")
    page.locator("[data-testid=stPopover] button").first.click()
    body = page.locator("[data-testid=stPopoverBody]")
    body.locator("img").wait_for()
    link = body.get_by_text("/training_run?group_size=8").first
    link.wait_for()
    assert link.inner_text().strip().startswith("http")
    assert body.locator("img").evaluate("image => image.complete && image.naturalWidth > 50")


def test_downloads_arrive_and_the_hand_out_plays_offline(open_at, browser, tmp_path):
    page = open_at("/training_run?epochs=12")
    saved = {}
    for label in ("Metrics (CSV)", "Samples (CSV)", "Whole run (zip)", "Hand-out (HTML)"):
        with page.expect_download() as download:
            page.get_by_role("button", name=label).click()
        saved[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[label])
    history = train(chapter_task(), TrainConfig(epochs=12))
    assert pandas.read_csv(saved["Metrics (CSV)"]).loss.tolist() == history.metrics_frame().loss.tolist()
    assert len(pandas.read_csv(saved["Samples (CSV)"])) == 12 * 3 * 4
    assert len(zipfile.ZipFile(saved["Whole run (zip)"]).namelist()) == 5
    offline, errors = browser.new_page(), []
    offline.on("pageerror", lambda error: errors.append(str(error)))
    offline.on("request", lambda request: errors.append(request.url) if not request.url.startswith("file:") else None)
    offline.goto(saved["Hand-out (HTML)"].as_uri())
    offline.locator("[data-do=last]").click()
    assert where(offline) == "Epoch 12 / 12" and errors == []
    assert heatmap(offline) == pytest.approx(history.probabilities[0, 11].flatten().tolist(), abs=6e-4)
    offline.close()


@pytest.mark.parametrize(
    "path",
    [f"/one_update?group_size=64&kl_coef=0.5&step={step}" for step in range(1, 7)]
    + ["/", "/one_group", "/training_run", "/kl_leash", "/silent_groups", "/ppo_dpo_grpo"],
)
def test_a_phone_shows_every_formula_whole(open_at, path):
    page = open_at(path, width=390)
    page.locator(".katex-display").last.wait_for()
    right_ends = page.locator(".katex-display .katex-html > .base").evaluate_all(
        "bases => bases.map(b => b.getBoundingClientRect().right)"
    )
    assert (
        right_ends
        and max(right_ends) <= page.locator("[data-testid=stMainBlockContainer]").bounding_box()["width"] - 16
    )
