"""The story of three nodes with collapsing disks: the tail of latency with the exporters and without them."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

from collapsing_disks import quantile, run  # noqa: E402


def test_the_signal_of_a_node_takes_its_stalls_out_of_the_tail(folder):
    without, share_without = run(folder, 90, signal=False)
    with_signal, share_with = run(folder, 90, signal=True)
    assert share_without > 0.1, "without a signal the sick node gets its part"
    assert share_with < share_without / 2
    assert quantile(without, 0.95) > 0.5, "its stalls are in the tail"
    assert quantile(with_signal, 0.95) < quantile(without, 0.95) / 2
