from ui.frame import open_page

page = open_page("scale_up")
