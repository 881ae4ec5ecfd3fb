"""One torch thread: the tensors are small, and threads of several test runs would fight."""

import torch

torch.set_num_threads(1)
