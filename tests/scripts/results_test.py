"""Tests of the files that a bench writes under bench/results/: a run replaces its own rows and blocks only."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import policy_tables  # noqa: E402
import topics  # noqa: E402
from policy_scenarios import ALL  # noqa: E402

TABLE = """Text.

<!-- policies:begin -->

Command: old.

| scenario | `without=memory` | `without=steps` | revision |
|---|---:|---:|---|
| ample | 1.0 | 2.0 | `old` |
| tight | 3.0 | 4.0 | `old` |

<!-- policies:end -->

More text.
"""


class Source:
    revision = "new"
    line = "Command: new."


class TopicFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patched = unittest.mock.patch.object(topics, "RESULTS", pathlib.Path(folder.name))
        patched.start()
        self.addCleanup(patched.stop)
        self.file = pathlib.Path(folder.name, "topic.md")
        self.file.write_text(TABLE)

    def rows(self):
        return [line for line in topics.read("topic", "policies") if line.startswith("|")]

    def test_a_block_is_replaced_and_the_text_around_it_stays(self):
        topics.write("topic", "policies", ["one line"])
        self.assertEqual(self.file.read_text(),
                         "Text.\n\n<!-- policies:begin -->\n\none line\n\n<!-- policies:end -->\n\nMore text.\n")

    def test_a_file_without_the_block_is_an_error(self):
        with self.assertRaises(ValueError):
            topics.write("topic", "other", ["one line"])

    def test_measured_rows_are_replaced_and_the_others_stay(self):
        policy_tables.write_rows("topic", 1, ["| tight | 5.0 | 6.0 |"], Source)
        self.assertEqual(self.rows()[2:], ["| ample | 1.0 | 2.0 | `old` |", "| tight | 5.0 | 6.0 | `new` |"])
        self.assertIn("Command: new.", self.file.read_text())

    def test_rows_stand_in_the_order_of_the_scenarios(self):
        policy_tables.write_rows("topic", 1, [f"| {scenario.name} | 0.0 | 0.0 |" for scenario in reversed(ALL)], Source)
        self.assertEqual([policy_tables.cells_of(row)[0] for row in self.rows()[2:]], [scenario.name for scenario in ALL])

    def test_old_rows_follow_the_columns_of_a_new_head(self):
        head = "| scenario | `without=steps` | `without=gpu` | revision |"
        policy_tables.write_rows("topic", 1, ["| tight | 5.0 | 6.0 |"], Source, head)
        self.assertEqual(self.rows(), [head, "|---|---:|---:|---|", "| ample | 2.0 | - | `old` |",
                                       "| tight | 5.0 | 6.0 | `new` |"])

    def test_loads_stand_in_order_and_an_interval_is_no_load(self):
        at = [policy_tables.position(f"| tight, x | {load} | 1 |") for load in ("0.7", "1.25", "2.92 (2.57-3.67)")]
        self.assertEqual([place[3] for place in at], [0.7, 1.25, 0])
        self.assertEqual(policy_tables.interval_text(2.571, 3.666), " (2.57-3.67)")
        self.assertEqual(policy_tables.interval_text(2, 2), "")

    def test_ratios_are_of_equal_seeds(self):
        self.assertEqual(policy_tables.ratio_text([2, 4, 9], [1, 2, 3]), "2.00 (2.00-3.00)")
        self.assertEqual(policy_tables.ratio_text([2], [0]), "inf")

    def test_no_rows_change_nothing(self):
        policy_tables.write_rows("topic", 1, [], Source)
        self.assertEqual(self.file.read_text(), TABLE)


if __name__ == "__main__":
    unittest.main()
