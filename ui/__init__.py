"""What the pages share: frame, sidebar, links, texts, figures, the player."""

import torch

# Many visitors' scripts run in threads of one process; torch's own threads would only compete.
torch.set_num_threads(1)
