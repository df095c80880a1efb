"""The structure check sees every break that it forbids, and nothing else."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))

from check_structure import judge  # noqa: E402
from structure import layers, sizes, statuses, tree  # noqa: E402
from structure.cpp_outline import outline  # noqa: E402

TABLE = """
| folder | holds | may use | libraries |
|---|---|---|---|
| `base` | units | | |
| `base/clock.h` | the clock | `base` | `clock` |
| `core/queue` | pure | `base` | |
| `core` | pure | `base` `core/*` | |
| `edge` | sockets | `base/*` `core` | `boost` |
| `tests/*` | tests | `*` | `test` |

"""


def breaks(path, text, table=TABLE, others=("base/units.h", "base/clock.h", "core/a.h", "core/queue/q.h", "edge/e.h")):
    """Keys that the layer check reports for one file in a tree with some others."""
    with tempfile.TemporaryDirectory() as root:
        for name, content in [(other, "") for other in others] + [(path, text)]:
            os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
            with open(f"{root}/{name}", "w", encoding="utf-8") as file:
                file.write(content)
        found, _ = layers.find(root, tree.files(root), layers.Table(table))
        return {key for key, _, _ in found if not key.startswith("row-without-files")}


class Layers(unittest.TestCase):
    def test_a_file_may_include_its_own_folder_and_named_rows(self):
        text = '#include "core/a.h"\n#include "core/queue/q.h"\n#include "base/units.h"\n#include "absl/strings/str_cat.h"\n'
        self.assertEqual(breaks("core/b.cc", text + "#include <vector>\n#include <xxhash.h>\n"), set())

    def test_an_include_of_a_higher_row_is_a_break(self):
        self.assertEqual(breaks("core/b.cc", '  #  include "edge/e.h"\n'), {"arrow core -> edge"})
        self.assertEqual(breaks("core/queue/b.cc", '#include "core/a.h"'), {"arrow core/queue -> core"})

    def test_the_row_of_a_single_file_is_not_part_of_its_folder(self):
        self.assertEqual(breaks("core/b.cc", '#include "base/clock.h"\n'), {"arrow core -> base/clock.h"})
        self.assertEqual(breaks("edge/b.cc", '#include "base/clock.h"\n'), set())

    def test_a_library_must_be_named_by_the_row(self):
        for header, family in [("boost/asio.hpp", "boost"), ("nlohmann/json.hpp", "json"), ("mutex", "threads"),
                               ("yaml-cpp/yaml.h", "yaml"), ("prometheus/registry.h", "prometheus"), ("chrono", "clock"),
                               ("fstream", "files"), ("random", "random"), ("sys/socket.h", "system")]:  # fmt: skip
            self.assertEqual(breaks("core/b.cc", f"#include <{header}>\n"), {f"library core {family}"}, header)
        self.assertEqual(breaks("edge/b.cc", "#include <boost/asio.hpp>\n"), set())

    def test_a_call_for_time_or_chance_is_a_break(self):
        for call, family in [("std::rand()", "random"), ("time(nullptr)", "clock"), ("getenv(x)", "system")]:
            self.assertEqual(breaks("core/b.cc", f"int x = {call};\n"), {f"library core {family}"}, call)
        self.assertEqual(breaks("core/b.cc", "auto x = queue.time(pool) + operand(2);\n"), set())

    def test_a_comment_is_not_read(self):
        self.assertEqual(breaks("core/b.cc", '// #include <mutex>\n/*\n#include "edge/e.h"\n*/\n'), set())

    def test_a_header_that_is_not_in_the_tree_is_a_break(self):
        self.assertEqual(breaks("core/b.cc", '#include "queue/q.h"\n'), {"arrow core -> queue/q.h"})

    def test_every_folder_needs_a_row_and_every_row_a_file(self):
        self.assertEqual(breaks("core/new/b.cc", ""), {"row core/new"})
        with tempfile.TemporaryDirectory() as root:
            found, _ = layers.find(root, [], layers.Table(TABLE))
        self.assertIn(("row-without-files edge", 1, 0), found)

    def test_a_star_row_covers_everything_below_it(self):
        self.assertEqual(breaks("tests/http/b.cc", '#include "edge/e.h"\n#include <gtest/gtest.h>\n'), set())

    def test_a_star_stands_for_the_rows_above_only(self):
        table = TABLE.replace("| pure | `base` `core/*` |", "| pure | `*` |")
        self.assertEqual(breaks("core/b.cc", '#include "core/queue/q.h"\n', table), set())
        self.assertEqual(breaks("core/b.cc", '#include "edge/e.h"\n', table), {"arrow core -> edge"})

    def test_a_row_may_only_name_rows_above_it(self):
        table = layers.Table(TABLE.replace("| units | | |", "| units | `edge` | `clok` |"))
        self.assertEqual(len(table.errors), 2)
        self.assertEqual(layers.Table(TABLE).errors, [])
        self.assertEqual(len(layers.Table("no table").errors), 1)


class Outline(unittest.TestCase):
    def test_methods_are_member_functions_that_the_class_writes(self):
        kind = outline("""
            class Queue final : public Base<int> {
             public:
              explicit Queue(Clock& clock) : clock_(clock), size_{0} {}
              ~Queue() override;
              Queue(const Queue&) = delete;
              static std::vector<int> Make();
              int size() const { return size_; }
              template <class T>
              void Add(const std::map<int, T>& values = {});
              bool operator<(const Queue& other) const;
              bool operator==(const Queue& other) const = default;
              friend void Print(const Queue& queue) {}
              class Inner;
              using Key = int;
              enum class Kind { kA, kB };
             private:
              [[nodiscard]] virtual int Next() = 0;
              static constexpr int kLimit = 3;
              std::function<void(int)> callback_;
              int size_ = 0, spare_ = 1;
              std::array<int, 3> values_{};
              void (*raw_)(int);
              struct { int x; } pair_;
            };""").types[0]  # fmt: skip
        self.assertEqual(kind.methods, ["Queue", "~Queue", "Make", "size", "Add", "operator<", "Next"])
        self.assertEqual(kind.fields, ["callback_", "size_", "spare_", "values_", "raw_", "pair_"])
        self.assertFalse(kind.is_aggregate())

    def test_plain_data_is_an_aggregate(self):
        self.assertTrue(outline("struct A { int a = 1; bool empty() const { return a == 0; } };").types[0].is_aggregate())
        self.assertFalse(outline("struct A { int a = 1; void Clear() { a = 0; } };").types[0].is_aggregate())
        self.assertFalse(outline("struct A { private: int a = 1; };").types[0].is_aggregate())
        self.assertFalse(outline("class A { int a = 1; };").types[0].is_aggregate())

    def test_the_length_of_a_function_counts_from_brace_to_brace(self):
        functions = outline("""namespace a { namespace {
            Foo::Foo(int x) : a_{x}, b_(x) {
              if (x) { Call([&] { return "}"; }); }  // }
            }
            TEST(Suite, Name) { R"({)"; '{'; 1'000; }
            auto Bar() -> std::vector<int> {
            }
            constexpr int kTable[] = {1,
              2};
            }}""").functions  # fmt: skip
        self.assertEqual([(f.name, f.length) for f in functions], [("Foo::Foo", 3), ("Suite.Name", 1), ("Bar", 2)])


class Sizes(unittest.TestCase):
    def found(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.dirname(f"{root}/{path}"))
            with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
            return sizes.find(root, tree.files(root))

    def test_each_limit_holds_at_its_number_and_breaks_above_it(self):
        for number, text, limit in [("lines core/a.cc", "\n", 300), ("methods core/a.cc A", "void F();\n", 25),
                                    ("fields core/a.cc A", "int a;\n", 15), ("function core/a.cc F", "G();\n", 50)]:  # fmt: skip
            before, after = {"methods": ("class A {", "};"), "fields": ("class A {", "};"), "function": ("void F() {", "}"),
                             "lines": ("", "")}[number.split()[0]]  # fmt: skip
            extra = 1 if number.startswith("function") else 0
            self.assertEqual(self.found("core/a.cc", before + text * (limit - extra) + after), [])
            self.assertEqual(self.found("core/a.cc", before + text * (limit - extra + 1) + after), [(number, limit + 1, limit)])

    def test_a_folder_holds_25_files(self):
        paths = [f"core/{name}.txt" for name in range(26)]
        self.assertEqual(sizes.find("/", paths), [("files core", 26, 25)])
        self.assertEqual(sizes.find("/", paths[1:]), [])

    def test_data_has_no_limit(self):
        self.assertEqual(self.found("tests/data/a.py", "\n" * 400), [])


class Statuses(unittest.TestCase):
    def lines(self, text):
        return statuses.statuses(text, {"200", "404", "503"})

    def test_a_number_that_is_a_status_is_found(self):
        for text in ("error.status = 404;", "if (head.status >= 404) F();", "case 503:", "SendWhole(answer, 200, body);",
                     "Send(ready ? 200 : 503);", "ResponseHead head(200, true);", "int status_ = 200;"):  # fmt: skip
            self.assertEqual(self.lines("\n" + text), [2], text)

    def test_other_numbers_comments_and_texts_are_not(self):
        for text in ("// status = 404", 'F("status = 404");', "Duration::Milliseconds(200)", "int kKept = 503;",
                     "error.status = kNotFound;"):  # fmt: skip
            self.assertEqual(self.lines(text), [], text)


class Allowances(unittest.TestCase):
    def test_they_may_only_shrink(self):
        found = [("lines a", 320, 300)]
        self.assertEqual(judge(found, {"lines a": 320}), [])
        for allowed in ({}, {"lines a": 310}, {"lines a": 330}, {"lines a": 320, "lines b": 301}):
            self.assertEqual(len(judge(found, allowed)), 1, allowed)


if __name__ == "__main__":
    unittest.main()
