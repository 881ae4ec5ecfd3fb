from ui.frame import open_page

page = open_page("why_is_my_loss_0")
