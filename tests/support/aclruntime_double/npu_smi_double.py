"""A double of `npu-smi info` on the card of the double."""

from device_double import Card

card = Card.here()
chip = card.plan.get("soc", "Ascend310P3").removeprefix("Ascend")
held = card.by_process()
line = "+---------------------------+---------------+----------------------------------------------------+"
print(line)
print("| npu-smi double              Version: double                                                  |")
print(line)
print("| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|")
print("| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |")
print(line.replace("-", "="))
print(f"| 0     {chip:<20}| OK            | 67.8        45                0    / 0             |")
print(
    f"| 0                         | 0000:61:00.0  | 0           {sum(held.values()) >> 20} / 24576      0 / 0       |"
)
print(line.replace("-", "="))
print("| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |")
print(line.replace("-", "="))
for pid, size in held.items():
    print(f"| 0       0                 | {pid:<14}| python3                  | {size >> 20:<24}|")
if not held:
    print("| No running processes found in NPU 0                                                            |")
print(line.replace("-", "="))
