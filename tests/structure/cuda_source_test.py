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

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*',
                               re.DOTALL | re.MULTILINE)
DESIGNATED_LIST = re.compile(r"(?<![=!<>])=\s*\{\s*\.")
# What precedes the = of a declaration: a type and a name, or a comma and a further name.
DECLARATION = re.compile(r"(?:\b(?!else\b|do\b)\w+|>)[\s*&]+[\w:]+(?:\[[^][]*\])*\s*$|,\s*\w+\s*$")
# The same in a list: `{.a = {.b = 1}}`.
MEMBER = re.compile(r"[{,]\s*\.\w+\s*$")


def without_comments(text):
    """The text with comments, strings and directives blanked, so that line numbers stay."""
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def assigned_designators(text):
    """The lines on which a braced list with designators and no type is assigned."""
    text = without_comments(text)
    lines = []
    for match in DESIGNATED_LIST.finditer(text):
        before = text[:match.start()]
        if not DECLARATION.search(before) and not MEMBER.search(before):
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
                     "(*shape) = {.a = 1};", "a::b = {.c = 1};", "case 3: s = {.a = 1};",
                     "for (int i = 0; i < 3; ++i) s[i] = {.a = 1};", "if constexpr (A<B>) s = {.a = 1};",
                     "std::get<0>(t) = {.a = 1};", "do s = {.a = 1};", "m[{1, 2}] = {.a = 1};",
                     "#pragma unroll\n  s[i] = {.a = 1};"):
            self.assertEqual(len(assigned_designators(f"int f() {{\n  g();\n  {text}\n}}")), 1, text)

    def test_other_lists_are_accepted(self):
        for text in ("LaunchShape shape = {.grid_x = 1};", "*shape = LaunchShape{.grid_x = 1};",
                     "const std::vector<S> v = {{.a = 1}};", "return {.a = 1};", "f({.a = 1});",
                     "constexpr W kA = {.a = true}, kB = {.b = true};", "N n = {.s = {.a = 1}};",
                     "// *shape = {.grid_x = 1};", "if (a == b) f({.a = 1});", "S s{.a = 1, .b = {.c = 2}};",
                     "auto& [a, b] = x;", "void f(S s = {.a = 1});", "const S A::kB = {.a = 1};",
                     "S list[2] = {.a = 1};", "V<S> v = {.a = 1};", "const S& s = {.a = 1};",
                     "S s = {\n .a = 1,\n .b = {.c = 1}};"):
            self.assertEqual(assigned_designators(f"int f() {{\n  g();\n  {text}\n}}"), [], text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
