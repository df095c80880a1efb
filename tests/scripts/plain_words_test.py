"""Tests scripts/plain_words.py."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import plain_words  # noqa: E402
from words import pieces as reader, references  # noqa: E402


def sentences(pieces):
    return [" ".join(words) for piece in pieces for _, words in piece.sentences()]


class Comments(unittest.TestCase):
    def rules(self, comment):
        pieces = reader.slash_comments("a.h", comment)
        return {rule for rule, _, _ in plain_words.findings_in(pieces, document=False)}

    def test_a_headless_beginning_is_found(self):
        for beginning in ("What a step costs.", "Of the whole answer.", "By replica.", "Whether the pool is full."):
            self.assertEqual(self.rules(f"int x;  // {beginning}"), {"headless"}, beginning)

    def test_a_clause_before_a_main_clause_is_a_sentence(self):
        self.assertEqual(self.rules("// Where memory binds, the core refuses."), set())
        self.assertEqual(self.rules("// By default nothing is refused."), set())

    def test_the_second_line_of_a_comment_is_not_a_beginning(self):
        self.assertEqual(self.rules("// The cost of a step\n// of one replica."), set())

    def test_a_metaphor_is_found_and_a_defined_term_is_not(self):
        self.assertEqual(self.rules("// The request takes a seat."), {"metaphor"})
        self.assertEqual(self.rules("// The load carried over the knee."), set())

    def test_twenty_five_words_pass_and_twenty_six_do_not(self):
        self.assertEqual(self.rules("// " + "word " * 25), set())
        self.assertEqual(self.rules("// " + "word " * 26), {"long"})

    def test_a_table_in_a_comment_is_no_sentence(self):
        self.assertEqual(self.rules("// The modes:\n//   what     " + "word " * 30), set())

    def test_slashes_in_a_string_are_no_comment(self):
        self.assertEqual(reader.slash_comments("a.cc", 'Get("http://what");'), [])


class Documents(unittest.TestCase):
    def test_code_and_headings_are_no_sentences(self):
        text = "# What is this\n\nOne fact. `b` is two.\n\n```\nwhat is not read\n```\n"
        self.assertEqual(sentences(reader.markdown("a.md", text)), ["One fact.", "CODE is two."])

    def test_paths_are_read_from_backticks_links_and_commands(self):
        text = "`scripts/plain_words.py` [x](docs/none.md) `Class::member`\n```\nbench/none.sh --flag\n```\n"
        names = [name for _, name in references.named_paths(plain_words.ROOT, text)]
        self.assertEqual(names, ["docs/none.md", "scripts/plain_words.py", "bench/none.sh"])
        self.assertEqual([references.exists(plain_words.ROOT, name, plain_words.ROOT) for name in names], [False, True, False])

    def test_tests_are_found_by_suite_and_name(self):
        names = [name for _, name in references.named_tests("`Suite.Name` `Suite.*` `test_of_it` `a.b` `File.md`")]
        self.assertEqual(names, ["Suite.Name", "Suite.*", "test_of_it"])


if __name__ == "__main__":
    unittest.main()
