"""Refuses CUDA source that nvcc is known to miscompile.

nvcc 13.0 ignores the designators of a braced list that is assigned in a template: `*shape = {.grid_x = x,
.cluster_x = 2};` sets the first two members of the struct, whatever their names. A list with its type,
`*shape = LaunchShape{...}`, and an initialiser, `LaunchShape shape = {...}`, are compiled as written.

cuda_source_test.py ROOT: ROOT is the folder of the sources.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("kernels", "collectives", "nn", "bench", "tests", "tools")
ENDINGS = (".cu", ".cuh", ".h", ".inc")  # what nvcc reads

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
DESIGNATED_LIST = re.compile(r"(?<![=!<>])=\s*\{\s*\.")
# What precedes the = of an assignment: one expression. A declaration has a type and a name.
EXPRESSION = re.compile(r"[*&(]*[A-Za-z_][\w:]*(?:(?:\.|->)\s*\w+|\[[^;]*\]|\([^;]*\)|\))*\s*$")
NOT_A_VALUE = re.compile(r"\b(?:return|case|else|do)\s+")


def without_comments(text):
    """The text with comments and strings blanked, so that line numbers stay."""
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def assigned_designators(text):
    """The lines on which a braced list with designators and no type is assigned."""
    text = without_comments(text)
    lines = []
    for match in DESIGNATED_LIST.finditer(text):
        # The statement, or the member of a list (`{.a = {.b = 1}}`), which is no assignment.
        start = max(text.rfind(mark, 0, match.start()) for mark in (";", "{", "}", "\n#"))
        before = text[start + 1:match.start()].lstrip()
        before = re.sub(r"^(?:if|while|for)\s*\(.*\)\s*", "", before, flags=re.DOTALL)
        before = NOT_A_VALUE.sub("", before).rsplit("=", 1)[-1].lstrip()
        if not before.startswith(".") and EXPRESSION.match(before):
            lines.append(text.count("\n", 0, match.start()) + 1)
    return lines


class CudaSource(unittest.TestCase):
    def test_no_designators_are_assigned_without_a_type(self):
        checked = 0
        for folder in FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in ENDINGS and path.is_file():
                    checked += 1
                    with self.subTest(file=str(path.relative_to(ROOT))):
                        self.assertEqual(assigned_designators(path.read_text()), [],
                                         "lines: write the type before the brace")
        self.assertGreater(checked, 300)

    def test_the_pattern_is_found(self):
        for text in ("*shape = {.grid_x = 1};", "p.epilogue = {.aligned = true};", "s = {\n    .a = x};",
                     "if (tile) *plan = {.splits = 1};", "h->s = { .a = 1 };", "list[2 * i] = {.a = 1};",
                     "shape() = {.a = 1};", "a = b = {.a = 1};", "else s = {.a = 1};",
                     "(*shape) = {.a = 1};", "a::b = {.c = 1};"):
            self.assertEqual(len(assigned_designators(f"int f() {{\n  g();\n  {text}\n}}")), 1, text)

    def test_other_lists_are_accepted(self):
        for text in ("LaunchShape shape = {.grid_x = 1};", "*shape = LaunchShape{.grid_x = 1};",
                     "const std::vector<S> v = {{.a = 1}};", "return {.a = 1};", "f({.a = 1});",
                     "constexpr W kA = {.a = true}, kB = {.b = true};", "N n = {.s = {.a = 1}};",
                     "// *shape = {.grid_x = 1};", "if (a == b) f({.a = 1});", "S s{.a = 1, .b = {.c = 2}};",
                     "auto& [a, b] = x;", "void f(S s = {.a = 1});"):
            self.assertEqual(assigned_designators(f"int f() {{\n  g();\n  {text}\n}}"), [], text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
