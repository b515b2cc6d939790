"""ddp.py: PyTorch's DistributedDataParallel over gloo, set up from torchrun's variables: two ranks with different
samples end with the same weights. For test_gang_local.sh and, in an image without our files, test_gang.sh."""
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
assert (rank, size) == (int(os.environ["RANK"]), 2)
torch.manual_seed(0)
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
draw = torch.Generator().manual_seed(rank) # different samples per rank
for step in range(30):
    x = torch.randn(16, 8, generator=draw)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weights = [torch.zeros(1, 8) for _ in range(size)]
dist.all_gather(weights, model.module.weight.detach())
assert torch.equal(weights[0], weights[1]) and loss < 0.05, loss
print(f"rank {rank} of {size} agrees", flush=True)
dist.destroy_process_group()
