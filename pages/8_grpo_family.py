from ui.frame import open_page

page = open_page("grpo_family")
