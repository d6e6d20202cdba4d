"""Refuses equal names in the unnamed namespaces of files that are compiled together.

unity_test.py BUILD: its compile_commands.json names the unity files, which include the sources. Two functions
of one name would be overloads of each other in a unity build: a call could then mean another function than
when each file is compiled alone.
"""
import json
import pathlib
import re
import sys
import unittest

COMMANDS = pathlib.Path(sys.argv[1]) / "compile_commands.json"
# PrintTo() of GoogleTest is found by the type of its argument, which differs.
SHARED = {"PrintTo"}
TYPE = re.compile(r"(?:struct|class|union|enum class|enum|concept)\s+(\w+)\b(?!.*\()")
# Not the name of a declaration at the beginning of a line.
OTHER = re.compile(r"(?:namespace|using|public|private|protected|static_assert|return|friend|extern|"
                   r"TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_SUITE|INSTANTIATE_\w+|RONDO_[A-Z_]+)\b")


def without_templates(line):
    """The line without template argument lists, which may be nested."""
    before = None
    while before != line:
        before, line = line, re.sub(r"<[^<>]*>", "", line)
    return line


def names(text):
    """The functions, types and constants of a file that belong to it alone. It must be formatted."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.DOTALL)
    text = re.sub(r"\b(?:__launch_bounds__|alignas|decltype)\([^()]*\)\s*", "", text)
    found, inside = set(), False
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line == "}  // namespace":
            inside = False
        line = re.sub(r"//.*", "", without_templates(line)).removeprefix("template").strip() \
            if re.match(r"[A-Za-z_]", line) else ""
        if not line or OTHER.match(line) or not (inside or line.startswith("static ")):
            continue
        declared = re.split(r"[({\[;=]", line)[0].rstrip()
        name = TYPE.match(line) or re.search(r"[\s*&]((?:\w+::)?\w+)$", declared)
        if name and "::" not in name[1]:
            found.add(name[1])
    return found - SHARED


def equal_names(texts):
    """{name: files}, for the names of several files; texts: {file: text}."""
    files_of = {}
    for file, text in texts.items():
        for name in names(text):
            files_of.setdefault(name, []).append(file)
    return {name: files for name, files in files_of.items() if len(files) > 1}


def groups():
    """{unity file: its sources}"""
    found = {}
    for command in json.loads(COMMANDS.read_text()):
        unity = pathlib.Path(command["file"])
        if unity.parent.name == "Unity" or unity.name.endswith("_together.cu"):
            found[unity] = [pathlib.Path(source) for source in
                            re.findall(r'^#include "(.*)"', unity.read_text(), re.MULTILINE)]
    return found


class Unity(unittest.TestCase):
    @unittest.skipUnless(COMMANDS.exists(), "the build has no compile_commands.json")
    def test_names_of_files_that_are_compiled_together_differ(self):
        for unity, sources in groups().items():
            equal = equal_names({source.name: source.read_text(errors="replace") for source in sources})
            with self.subTest(unity=unity):
                self.assertFalse(equal, f"equal names in unnamed namespaces of files that {unity} includes: "
                                 f"{equal}. Rename them, or set SKIP_UNITY_BUILD_INCLUSION of one file")

    def test_declarations_are_found(self):
        text = """
namespace {
struct One {
  int member() { return inner(2); }
};
template <class T, class U = std::vector<T>>
std::vector<std::pair<int, T>> two(const T& x) {
  int local = 1;
}
constexpr int kThree = 3, k = 4;
__global__ void __launch_bounds__(kThreads)
    four(int* data) {
}
Type One::five() { return {}; }
using Six = int;
TEST(Seven, Works) {}
int* eight();
}  // namespace
int outside() { return 0; }
static int nine = 9;
"""
        self.assertEqual(names(text), {"One", "two", "kThree", "four", "eight", "nine"})

    def test_a_planted_name_is_found(self):
        one = "namespace {\nint size(int x) {\n}\n}  // namespace\nint size(char x) {\n}\n"
        two = "namespace {\nfloat size(float x) {\n}\n}  // namespace\n"
        self.assertEqual(equal_names({"a.cpp": one, "b.cpp": two}), {"size": ["a.cpp", "b.cpp"]})
        self.assertEqual(equal_names({"a.cpp": one, "b.cpp": two.replace("size", "sizes")}), {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
