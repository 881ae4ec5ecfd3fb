"""One puzzle on the page: its question, the answer in two lines, the scene, what changes it, and where to read on."""

import streamlit as st

from grpo_core.config import DEFAULTS
from grpo_core.puzzles import PUZZLES, Control, Puzzle, Scene, search, written
from ui import figures, links, puzzle_figures, tasks
from ui.frame import PAGES, Page
from ui.i18n import escape, translator
from ui.puzzle_figures import fill
from ui.runs import puzzle_scene

MAX_SEARCH = 100


def choose_puzzle(page: Page) -> None:
    """A search field, and the questions that it leaves; what is chosen goes into the link."""
    _ = page.gettext
    text = st.text_input(
        _("Search"),
        key="puzzle_search",
        max_chars=MAX_SEARCH,
        placeholder=_("nan, clip_ratio, 2703 …"),
        icon=":material/search:",
        on_change=_show_first_found,
    )
    found = search(text, _)
    if not found:
        st.info(_("Nothing found for “{text}”. Here are all questions.").format(text=escape(text)))
    offered = found or tuple(PUZZLES)
    current = links.settings()["puzzle"]
    st.session_state.setting_puzzle = current if current in offered else None
    st.radio(
        _("Questions"),
        offered,
        format_func=lambda key: _(PUZZLES[key].question),
        key="setting_puzzle",
        label_visibility="collapsed",
        on_change=lambda: _change(st.session_state.setting_puzzle),
    )
    st.caption(_("{found} of {all} questions").format(found=len(offered), all=len(PUZZLES)))


def _show_first_found() -> None:
    found = search(st.session_state.puzzle_search, translator(links.settings()["lang"]))
    if found and links.settings()["puzzle"] not in found:
        _change(found[0])


def _change(key: str) -> None:
    links.change("puzzle", key)
    links.change("option", links.ALL_DEFAULTS["option"])


def draw_puzzle(page: Page) -> None:
    _ = page.gettext
    puzzle = PUZZLES[links.settings()["puzzle"]]
    st.subheader(_(puzzle.question), anchor=False)
    place = st.container()
    option = _turn(_, puzzle)
    scene = puzzle_scene(puzzle.key, option)
    place.markdown("\n\n".join(fill(_(line), scene) for line in puzzle.answer))
    _draw_scene(_, scene)
    _draw_sources(_, puzzle, option)


def _turn(_, puzzle: Puzzle) -> int:
    """The scene's control; the position that it is at."""
    control, chosen = puzzle.control, links.settings()["option"]
    option = int(chosen) - 1 if chosen else puzzle.start
    if control is None:
        return option
    st.session_state.setting_option = option
    st.segmented_control(
        _(control.label),
        range(puzzle.options),
        format_func=lambda index: _position(_, control, index),
        key="setting_option",
        required=True,
        on_change=lambda: links.change("option", str(st.session_state.setting_option + 1)),
    )
    return option


def _position(_, control: Control, index: int) -> str:
    value = control.values[index]
    return _(control.names[index]) if control.names else value if isinstance(value, str) else written(value, "g")


def _draw_scene(_, scene: Scene) -> None:
    columns = st.columns(len(scene.charts)) if scene.charts else []
    for index, (column, drawn) in enumerate(zip(columns, scene.charts, strict=True)):
        with column:
            figures.show(puzzle_figures.chart(_, drawn, scene), f"puzzle_chart_{index}")
    for formula in scene.formulas:
        st.latex(formula)
    if scene.table:
        alt = fill(_(scene.table.alt), scene)
        st.table(puzzle_figures.table(_, scene.table), hide_index=True, alt=alt)
    if scene.config:
        run = ", ".join(f"`{name}` {getattr(scene.config, name):g}" for name in _SHOWN)
        st.caption(_("Trained live on the chapter's task, whatever the sidebar says: {run}.").format(run=run))


_SHOWN = ("group_size", "epochs", "learning_rate", "kl_coef", "seed")


def _draw_sources(_, puzzle: Puzzle, option: int) -> None:
    st.markdown("**" + _("The setting that changes it") + "**")
    settings = {framework: ", ".join(f"`{name}`" for name in names) for framework, names in puzzle.fix.items()}
    st.markdown("\n".join(f"- {framework}: {names}" for framework, names in settings.items()))
    path, label, icon = PAGES[puzzle.page]
    changes = DEFAULTS | {"task": tasks.CHAPTER} | puzzle.link_settings(option)
    st.page_link(
        path,
        label=_("More: {page}, with these settings").format(page=_(label)),
        icon=icon,
        query_params=links.query_params(puzzle.page, changes),
    )
    st.markdown("**" + _("Where people asked") + "**")
    if not puzzle.threads:
        st.markdown(_("No thread: found by running the frameworks."))
    titles = {thread: f" · {escape(thread.title)}" if thread.title else "" for thread in puzzle.threads}
    st.markdown("\n".join(f"- [{thread.name}]({thread.url}){title}" for thread, title in titles.items()))
