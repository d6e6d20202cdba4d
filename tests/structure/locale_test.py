"""Refuses functions whose text follows the program's locale.

std::locale::global() and setlocale() can group digits and replace the decimal point in what streams,
std::to_string() and printf() write and strtod() reads. Text is made by concat() and kernels/core/text.h and
read by nn/io/parse.h instead; the executor has tools/simt/src/base/text.h.

locale_test.py ROOT: ROOT is the folder of the sources.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("kernels", "collectives", "nn", "bench", "tools")
ENDINGS = (".cpp", ".h", ".cu", ".cuh", ".inc")
EXECUTOR = "tools/simt/"
HELPERS = ("kernels/core/text.h", "tools/simt/src/base/text.h")
PROGRAMS_OF_STUDENTS = "tools/rondo/judge/problems/*/*.cu"

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
FOLLOWS_A_LOCALE = re.compile(
    r"\bstd::(?:w?[io]?(?:string|f)stream|sto[dfil]|stold|stoul{1,2}|stoll|put_time|put_money|locale|regex)\b"
    r"|\b(?:strto(?:d|f|ld|l|ll|ul|ull)|ato[fil]|atoll|[vf]*s?n?scanf|setlocale|localeconv)\s*\("
    r"|\b(?:std::)?(?:to(?:upper|lower)|is(?:alpha|alnum|digit|xdigit|space|print|punct|upper|lower))\s*\(")
# Integers are written alike in all locales by printf(), and by std::to_string(), whose argument's type is not
# seen here: the executor has no other.
PRINTED_REAL = re.compile(r'printf\s*\((?:[^;"]|"(?:\\.|[^"\\])*")*?'
                          r'"(?:\\.|[^"\\])*%[-+#0\'*.\d]*l?[aefgAEFG]')
TO_STRING = re.compile(r"\bstd::to_string\b")
# nlohmann-json reads numbers by strtod().
JSON_PARSER = re.compile(r"\bjson::(?:sax_)?parse\(", re.IGNORECASE)


def violations(name, text):
    """(line, what) of each use in the file `name`."""
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    patterns = [FOLLOWS_A_LOCALE, PRINTED_REAL] + ([] if name.startswith(EXECUTOR) else [TO_STRING])
    found = [match for pattern in patterns for match in pattern.finditer(text)]
    if "CLocale" not in text:
        found += JSON_PARSER.finditer(text)
    return [(text.count("\n", 0, match.start()) + 1, match[0]) for match in found]


class Locale(unittest.TestCase):
    def test_no_text_follows_it(self):
        checked = 0
        for folder in FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                name = path.relative_to(ROOT).as_posix()
                if path.match(PROGRAMS_OF_STUDENTS) or name in HELPERS:
                    continue
                if path.suffix in ENDINGS and path.is_file():
                    checked += 1
                    with self.subTest(file=name):
                        self.assertEqual(violations(name, path.read_text()), [])
        self.assertGreater(checked, 300)

    def test_uses_are_found(self):
        for text in ("std::ostringstream s;", "std::ofstream f(p);", "std::ifstream f;", "std::to_string(1)",
                     "std::stod(t)", "strtod(t, &e)", "atof(t)", "sscanf(t, \"%d\", &i)", "std::toupper(c)",
                     "isalnum(c)", 'snprintf(t, sizeof t, "%.*f", d, v)', 'printf("%d, %g\\n", i, v)',
                     'std::fprintf(stderr, "a; "\n "%5.1e", v)', "Json::parse(text)",
                     "json::sax_parse(t, &r)",
                     "std::stoull(t)", "std::stringstream s"):
            self.assertEqual(len(violations("nn/a.cpp", text)), 1, text)

    def test_others_are_accepted(self):
        for text in ("concat(1)", "std::ostream& out", 'snprintf(t, 9, "%02x %d %s", a, b, c)',
                     "// std::stod",
                     "TextStream s;", "CLocale l; Json::parse(text)", "exact_text(1)",
                     "std::from_chars(a, b, c)",
                     'printf("100 %% of it");', 'f("%g")'):
            self.assertEqual(violations("nn/a.cpp", text), [], text)
        self.assertEqual(violations("tools/simt/src/a.cpp", "std::to_string(1)"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
